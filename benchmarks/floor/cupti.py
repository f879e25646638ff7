"""The least client of CUPTI, built against the headers of NVIDIA's wheels or of a toolkit."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.floor import HERE, OUT, build


def load_client() -> Any:
    library = OUT / "cupti_client.so"
    build(HERE / "cupti_client.c", library, "-fPIC", "-shared", *(f"-I{each}" for each in header_folders()))
    return ctypes.CDLL(str(library))


def header_folders() -> list[Path]:
    wheels = [Path(entry) / "nvidia" / "cu13" / "include" for entry in sys.path]
    toolkits = [Path(home) / "include" for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    return [folder for folder in wheels + toolkits if folder.is_dir()]
