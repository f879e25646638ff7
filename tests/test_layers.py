"""Imports and includes go down only: the picture of ARCHITECTURE.md, read from the code itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kinetograph"
NATIVE = ROOT / "native"

# Top to bottom; parts of one line do not see each other. `__init__` and `__main__` see all.
PYTHON_LAYERS = [
    {"jupyter"},
    {"cli"},
    {"ondemand", "run"},
    {"kineto"},
    {"session"},
    {"frameworks", "export", "intra_kernel", "nvtx", "itt"},
    {"analysis"},
    {"trace", "ranged", "injection"},
    {"checks"},
    {"late"},
    {"fork_locks", "loader"},
    {"_native", "errors", "hints"},
]
DATA_OF_RECORD = {"record/event.h", "record/annotation_name.h", "record/object_name.h", "record/recording.h"}
# What each folder may include besides itself: whole folders, or single files of one.
MAY_INCLUDE = {
    "include": set(),
    "base": set(),
    "record": {"base", "include"},
    "agent": {"base"},
    "collect": {"base", "record", "include"},
    "emit": {"base", "record", "include"},
    "inject": {"base/itt_types.h", "base/json_members.h", "include"},
    "trace": {"base", *DATA_OF_RECORD},
    "format": {"base", *DATA_OF_RECORD, "trace"},
    "intra_kernel": {"base", *DATA_OF_RECORD, "trace"},
    "bind": {"base", "agent", "record", "collect", "emit", "trace", "format", "intra_kernel", "include"},
}
MAY_SEE_PYTHON = re.compile(r"bind/|collect/(python_calls|python_samples|python_names|allocations)")


def python_level(part: str) -> int:
    return next(level for level, parts in enumerate(PYTHON_LAYERS) if part in parts)


def part_of(module: str) -> str:
    return module.split(".")[1]


def imported_modules(path: Path) -> Iterator[str]:
    package = ["kinetograph", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, node.module or ""]).strip(".")
            # `from kinetograph import trace` names the part after the word import.
            yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_python_imports_go_down_only(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part in ("__init__", "__main__"):
        return
    for module in imported_modules(path):
        if module.startswith("kinetograph.") and part_of(module) != part:
            assert python_level(part_of(module)) > python_level(part), f"{part} must not import {module}"


def included_files(path: Path) -> list[str]:
    return re.findall(r'#include ["<]([^">]+)[">]', path.read_text())


@pytest.mark.parametrize(
    "path", sorted(NATIVE.rglob("*.[hc]*")), ids=lambda path: str(path.relative_to(NATIVE))
)
def test_native_includes_follow_the_picture(path: Path) -> None:
    where = str(path.relative_to(NATIVE))
    folder = where.split("/")[0]
    for included in included_files(path):
        if included in ("Python.h", "nanobind/nanobind.h"):
            assert MAY_SEE_PYTHON.match(where), f"{where} must not know Python"
        target = "include" if included.startswith("kinetograph/") else included.split("/")[0]
        if target in MAY_INCLUDE and target != folder:
            assert {target, included} & MAY_INCLUDE[folder], f"{where} must not include {included}"


# No collectors, but what several of them need.
SHARED_BY_COLLECTORS = ("collect/collector.h", "collect/python_names/")


def test_collectors_do_not_include_one_another() -> None:
    for path in (NATIVE / "collect").rglob("*.[hc]*"):
        family = path.stem if path.parent.name == "collect" else path.parent.name
        for included in included_files(path):
            if included.startswith("collect/") and not included.startswith(SHARED_BY_COLLECTORS):
                assert included.startswith(f"collect/{family}"), f"{path.name} must not include {included}"
