"""Knows nothing of us: annotates itself by nvtx and ittapi, and starts what its arguments name."""

import subprocess
import sys

import ittapi
import nvtx

with nvtx.annotate("by nvtx", domain="of nvtx"), ittapi.task("by ittapi", domain="of ittapi"):
    if len(sys.argv) > 1:
        print(subprocess.run(sys.argv[1:]).returncode)
