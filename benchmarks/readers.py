"""Read a Chrome trace: one function per reader, each called in a fresh process; CPU seconds."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

JUDGES = Path(os.environ.get("JUDGES", Path.home() / ".cache" / "kinetograph-judges"))
HTA_PYTHON = JUDGES / "hta" / "bin" / "python"
HTA_PROGRAM = """
import logging, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
start = time.process_time()
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
print(time.process_time() - start)
"""


def kinetograph(path: str) -> float:
    import kinetograph as kg

    start = time.process_time()
    kg.load(path)
    return time.process_time() - start


def orjson(path: str) -> float:
    """Only the parsing: the bytes are in memory before the clock starts."""
    import orjson

    text = Path(path).read_bytes()
    start = time.process_time()
    orjson.loads(text)
    return time.process_time() - start


def standard_json(path: str) -> float:
    text = Path(path).read_bytes()
    start = time.process_time()
    json.loads(text)
    return time.process_time() - start


def hta(path: str) -> float:
    """HolisticTraceAnalysis lives in an environment of its own, so a second Python measures itself."""
    copy = Path(path).with_name("rank-0.json")
    shutil.copy(path, copy)
    command = [HTA_PYTHON, "-c", HTA_PROGRAM, copy]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
