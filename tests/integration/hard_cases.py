"""What the tests of hard cases share: running a program of `programs/`, waiting for something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"

# For programs that tell what is resident. Threads take several arenas else, whose rests go up and down.
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.001)


def run_program(name: str, *args: object, expect: int = 0, timeout: float = 300, **variables: str) -> Any:
    """Run `programs/NAME.py` and give what it printed last, as JSON; None if it printed nothing."""
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(PROGRAMS / f"{name}.py"), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | variables,
    )
    told = f"{name} {args}: exit status {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-4000:]}"
    assert result.returncode == expect, told
    assert "Fatal Python error" not in result.stderr, told
    lines = result.stdout.splitlines()
    return json.loads(lines[-1]) if lines else None
