"""The hand-written floors: C that is built on first use with the compiler that Python names."""

import ctypes
import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
OUT = HERE.parent / "out"


def load_floor() -> ModuleType:
    """Import the extension with the floors of scopes and marks."""
    return load_extension("floor")


def load_hooks() -> ModuleType:
    """Import the extension with the floors of traced calls."""
    return load_extension("hooks")


def load_extension(name: str) -> ModuleType:
    library = OUT / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_path("include")
    flags = ("-fPIC", "-shared", "-fvisibility=hidden", f"-I{include}", *nvtx_flags())
    build(HERE / f"{name}.c", library, *flags)
    spec = importlib.util.spec_from_file_location(name, library)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {library}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nvtx_flags() -> tuple[str, ...]:
    """How to find the headers of NVTX, which come with what the build needs; none without them."""
    for entry in sys.path:
        headers = Path(entry) / "nvidia" / "cu13" / "include"
        if (headers / "nvtx3" / "nvToolsExt.h").exists():
            return "-DFLOOR_NVTX", f"-isystem{headers}", "-ldl"
    return ()


def null_tool() -> Path | None:
    """A tool that takes NVTX ranges and ITT tasks and does nothing; None without the headers of NVTX."""
    flags = nvtx_flags()
    library = OUT / "null_tool.so"
    if flags:
        build(HERE / "null_tool.c", library, "-fPIC", "-shared", *flags)
    return library if flags else None


def load_annotations() -> ctypes.CDLL:
    """Loops over ranges of NVTX and of our C table; needs the headers of NVTX."""
    import kinetograph

    library = OUT / "annotations.so"
    headers = Path(kinetograph.__file__).parent / "include"
    build(HERE / "annotations.c", library, "-fPIC", "-shared", f"-I{headers}", *nvtx_flags())
    return ctypes.CDLL(str(library))


def write_json(count: int, path: str) -> float:
    """CPU seconds a bare C program takes to write `count` events."""
    program = OUT / "json_writer"
    build(HERE / "json_writer.c", program)
    done = subprocess.run([program, str(count), path], check=True, capture_output=True, text=True)
    return float(done.stdout)


def build(source: Path, target: Path, *flags: str) -> None:
    """Compile, unless the target is newer than its source."""
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return
    target.parent.mkdir(exist_ok=True)
    compiler = sysconfig.get_config_var("CC").split()[0]
    subprocess.run([compiler, "-O2", *flags, str(source), "-o", str(target)], check=True)
