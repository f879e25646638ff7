"""`import kinetograph` brings little: what is heavy comes with the first call that needs it.

Times are measured by `make bench`; here only what is loaded is looked at, which is the same on every machine.
"""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

# Raise it for a module that every program needs; load any other when it is first used.
OWN_MODULES = 52

LATE_OF_OURS = [
    "analysis",
    "cli",
    "export",
    "kineto.names",
    "ondemand.agent",
    "ondemand.names",
    "session.activity_types",
    "session.cycle",
    "session.decorate",
    "session.details",
    "session.distributed",
    "session.features",
    "trace.gunzip",
    "trace.reports",
    "trace.tables",
]
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
    "math",
    "numpy",
    "pathlib",
    "random",
    "re",
    "rich",
    "socket",
    "subprocess",
    "tempfile",
    "tokenize",
    "torch",
    "traceback",
    "typing",
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


def run(program: str) -> str:
    """What it prints in a fresh interpreter, where nothing has been loaded yet."""
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "program",
    [
        "from kinetograph import kineto; print(kineto.ActivityType.CPU_OP.name)",
        "import kinetograph; print(kinetograph.kineto.ActivityType.CPU_OP.name)",
        "from kinetograph.kineto import ActivityType; print(ActivityType.CPU_OP.name)",
        "from kinetograph.kineto import *; print(ActivityType.CPU_OP.name)",
        "from kinetograph.kineto import activities; print(activities.ActivityType.CPU_OP.name)",
        "import kinetograph.kineto.activities as a; print(a.ActivityType.CPU_OP.name)",
    ],
)
def test_names_of_the_shim_come_when_they_are_asked_for(program: str) -> None:
    assert run(program) == "CPU_OP"


def test_the_shim_lists_and_explains_its_names_before_any_is_used() -> None:
    assert run("from kinetograph import kineto; print('prepare_trace' in dir(kineto))") == "True"
    assert "prepare_trace(cpu_only" in run("from kinetograph import kineto; help(kineto)")


@pytest.mark.parametrize("module", ["kinetograph.kineto", "kinetograph.trace"])
def test_a_name_that_is_not_there_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nonsense'"):
        importlib.import_module(module).nonsense  # noqa: B018


def test_rows_of_tables_can_be_imported_from_the_trace_package() -> None:
    assert run("from kinetograph.trace import Note, Process, Track; print(Note('a', 'b').text)") == "b"
