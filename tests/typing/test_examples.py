"""The examples beside this file are what users write; mypy --strict must accept them as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent / "examples"


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A config of its own: the project's names the package to check, and we check its users.
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES)


@pytest.fixture(autouse=True)
def _needs_mypy() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed here")


def test_mypy_accepts_the_examples() -> None:
    result = check(*sorted(path.name for path in EXAMPLES.glob("*.py")))
    assert result.returncode == 0, result.stdout


def test_mypy_refuses_what_the_types_forbid() -> None:
    program = (
        "import kinetograph as kg\n"
        "kg.ProfilerConfig(with_stack='yes')\n"
        "kg.RecordOptions(mode='loop')\n"
        "kg.kineto.TraceWrapper('now', 'ops')\n"
    )
    result = check("-c", program)
    refused = [
        line.partition(":")[2].partition(":")[0] for line in result.stdout.splitlines() if ": error:" in line
    ]
    assert refused == ["2", "3", "4"], result.stdout
