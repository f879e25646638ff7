"""`import kinetograph` brings little: what is heavy comes with the first call that needs it.

Times are measured by `make bench`; here only what is loaded is looked at, which is the same on every machine.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# Raise it for a module that every program needs; load any other when it is first used.
OWN_MODULES = 43

LATE_OF_OURS = ["cli", "export", "session.decorate", "session.details", "trace.gunzip"]
# Each costs a millisecond or more; dataclasses, for one, brings inspect, ast and tokenize.
LATE_LIBRARIES = [
    "asyncio",
    "ast",
    "click",
    "ctypes",
    "dataclasses",
    "glob",
    "hashlib",
    "importlib.metadata",
    "inspect",
    "isal",
    "json",
    "logging",
    "numpy",
    "pathlib",
    "random",
    "rich",
    "socket",
    "subprocess",
    "tempfile",
    "tokenize",
    "torch",
    "traceback",
    "zlib",
]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """What the import adds to a fresh interpreter, whatever .pth files have loaded before."""
    program = "import sys; before = set(sys.modules); import kinetograph; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", [*LATE_LIBRARIES, *(f"kinetograph.{part}" for part in LATE_OF_OURS)])
def test_the_import_leaves_this_for_later(loaded: set[str], module: str) -> None:
    assert module not in loaded


def test_the_import_loads_few_modules_of_ours(loaded: set[str]) -> None:
    own = sorted(module for module in loaded if module.partition(".")[0] == "kinetograph")
    assert len(own) <= OWN_MODULES, own


def test_the_package_is_a_plain_module() -> None:
    """CPython makes `kg.scope` twice as slow for a module with a `__getattr__` or a class of its own."""
    import kinetograph

    assert type(kinetograph) is type(sys)
    assert "__getattr__" not in vars(kinetograph)
