"""Build the observer for the torch of this process, once: the next one finds it in the user's cache."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kinetograph import _native
from kinetograph.errors import NotAvailable

__all__ = [
    "PLACE_HINT",
    "built_library",
    "cached_observers",
    "found_compiler",
    "is_built",
    "require_known",
    "why_not_kept",
]

_SOURCES = Path(__file__).parent / "observer"
_HEADERS = Path(_native.__file__).parent / "include"
# Where fields are gathered into vectors, what is stored of one alone has to reach the cache before it is
# loaded: 10 ns of an operator.
_FLAGS = (
    *("-O2", "-fno-tree-slp-vectorize", "-std=c++20"),
    *("-fPIC", "-fno-plt", "-shared", "-fvisibility=hidden", "-w"),
)
_OLDEST = (2, 5)
PLACE_HINT = "XDG_CACHE_HOME names a folder for it"
_LAST_LINES = 12
_SECONDS = 900
_TOLD_EVERY_SECONDS = 1.0
_DIGEST_BYTES = hashlib.sha256().digest_size


def built_library(torch: Any, *, quiet: bool = False) -> Path:
    """Where the observer is; built first if it has to be, which takes a minute.

    Of processes that ask at the same time one builds, and the others wait for it.
    """
    target = _target(torch)
    if _is_whole(target):
        return target
    require_known(torch.__version__)
    compiler = _compiler()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_suffix(".lock"), quiet):
            if not _is_whole(target):
                _clear(target)
                _build(torch, compiler, target, quiet)
    except OSError as error:
        raise NotAvailable(
            f"the observer for torch cannot be kept in {target.parent}: {error.strerror or error}",
            hint=PLACE_HINT,
        ) from error
    return target


def require_known(version: str) -> None:
    """Said at once, and not by a compiler after half a minute."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise NotAvailable(
            f"the observer knows PyTorch {oldest} and newer, not {version}",
            hint="with a newer PyTorch operators have inputs, numbers and FLOPs",
        )


def is_built(torch: Any) -> bool:
    return _is_whole(_target(torch))


def _is_whole(library: Path) -> bool:
    """Whether it ends with the digest of what is in front of it.

    Loading what a crash or a full disk left of one would end the process.
    """
    try:
        content = library.read_bytes()
    except OSError:
        return False
    return content[-_DIGEST_BYTES:] == hashlib.sha256(content[:-_DIGEST_BYTES]).digest()


def cached_observers(version: str) -> list[Path]:
    """Of this torch, for whichever Python. What a crash left of one is none: it will be built anew."""
    folder = _cache_folder()
    try:
        # What packages are called leaves out for which CUDA they were built.
        found = (path for form in ("-*", "+*") for path in folder.glob(f"observer-{version}{form}.so"))
        return sorted(filter(_is_whole, found))
    except OSError:  # it may not be looked at
        return []


def _cache_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    root = named if os.path.isabs(named) else os.path.expanduser("~/.cache")
    if not os.path.isabs(root):
        raise NotAvailable(
            "the observer for torch cannot be kept: this user has no home folder", hint=PLACE_HINT
        )
    return Path(root) / "kinetograph" / "torch"


def why_not_kept() -> str | None:
    """What keeps the cache from being made or written, as far as can be seen without trying."""
    folder = _cache_folder()
    there = next(each for each in (folder, *folder.parents) if os.path.exists(each))
    is_usable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return None if is_usable else f"its observer cannot be kept in {folder}"


def _target(torch: Any) -> Path:
    """The name says all that the binary depends on: another torch, or another of us, has another file."""
    facts = (
        torch.__version__,
        torch.version.git_version,
        torch.version.debug,
        torch.compiled_with_cxx11_abi(),
        sys.version_info[:2],
        os.uname().machine,
        _native.RECORD_ABI,
        _sources_hash(),
    )
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return _cache_folder() / f"observer-{torch.__version__}-{key}.so"


def _sources_hash() -> str:
    digest = hashlib.sha256(repr(_FLAGS).encode())
    for path in (*sorted(_SOURCES.iterdir()), _HEADERS / "kinetograph" / "record_abi.h"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _locked(path: Path, quiet: bool) -> Iterator[None]:
    """The file stays: one that is removed while others wait for it would be locked twice."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell(quiet, "waiting for another process, which builds the observer for torch\n")
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            # Closing it is not enough: a child that was forked meanwhile has it, too.
            fcntl.flock(file, fcntl.LOCK_UN)


def _beside(target: Path) -> str:
    return f"build-{target.stem}-"


def _clear(target: Path) -> None:
    """What one that was killed has left behind. Called with the lock, so that nobody is at work there."""
    for folder in target.parent.glob(glob.escape(_beside(target)) + "*"):
        shutil.rmtree(folder, ignore_errors=True)


def _build(torch: Any, compiler: list[str], target: Path, quiet: bool) -> None:
    """Beside its place, and moved there when it is whole."""
    started = time.monotonic()
    _tell(quiet, f"building the observer for torch {torch.__version__} (once, about a minute)\n")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_beside(target)) as folder:
        made = Path(folder) / target.name
        _compile(_command(torch, compiler, made), quiet)
        _seal(made)
        made.replace(target)
    _tell(quiet, f"built in {time.monotonic() - started:.0f} s: {target}\n")


def _command(torch: Any, compiler: list[str], output: Path) -> list[str]:
    root = Path(torch.__file__).parent
    includes = (_HEADERS, root / "include", root / "include/torch/csrc/api/include")
    return [
        *compiler,
        *_FLAGS,
        # Classes of torch have other members without it: it must be as torch itself was built.
        *(() if torch.version.debug else ("-DNDEBUG",)),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        *(f"-I{folder}" for folder in includes),
        *(str(path) for path in sorted(_SOURCES.glob("*.cpp"))),
        # Their names are enough: the process has loaded them, wherever they are.
        *(f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"),
        *_standard_library(),
        *("-o", str(output)),
    ]


def _standard_library() -> list[str]:
    """That of torch: streams go from us to torch, and a compiler may bring another, or a static one."""
    with open("/proc/self/maps") as file:
        mapped = {fields[5].strip() for line in file if len(fields := line.split(maxsplit=5)) == 6}
    return sorted(path for path in mapped if os.path.basename(path).startswith("libstdc++.so"))


def _compile(command: list[str], quiet: bool) -> None:
    with subprocess.Popen(
        command,
        env=os.environ | {"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as compiler:
        try:
            said = _awaited(compiler, quiet)
        except subprocess.TimeoutExpired:
            compiler.kill()
            raise NotAvailable(f"{command[0]} did not end in {_SECONDS} s: {shlex.join(command)}") from None
        except BaseException:
            compiler.kill()
            raise
    if compiler.returncode != 0:
        last = "\n".join(said.splitlines()[-_LAST_LINES:])
        raise NotAvailable(
            f"the observer for torch could not be built: {command[0]} ended with {compiler.returncode}\n"
            f"{shlex.join(command)}\n{last}",
            hint="CXX names another compiler, which must know C++20; disk and memory must have room for it",
        )


def _awaited(compiler: subprocess.Popen[str], quiet: bool) -> str:
    """What it says until it ends; a terminal is told how long that takes."""
    started = time.monotonic()
    while True:
        try:
            return compiler.communicate(timeout=_TOLD_EVERY_SECONDS)[0]
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - started
            if seconds > _SECONDS:
                raise
            _tell(quiet or not _has_terminal(), f"{seconds:.0f} s\r")


def _seal(library: Path) -> None:
    """For `_is_whole`. On the disk before it gets its name, or that may be all that a crash leaves of it."""
    with library.open("r+b") as file:
        file.write(hashlib.sha256(file.read()).digest())
        file.flush()
        os.fsync(file.fileno())


def found_compiler() -> list[str] | None:
    """As CXX has it, or the first that is there."""
    try:
        named = shlex.split(os.environ.get("CXX", ""))
    except ValueError:  # a quote that does not end
        return None
    candidates = [named] if named else [["c++"], ["g++"], ["clang++"]]
    return next((command for command in candidates if shutil.which(command[0])), None)


def _compiler() -> list[str]:
    command = found_compiler()
    if command is None:
        tried = os.environ.get("CXX") or "c++, g++, clang++"
        raise NotAvailable(
            f"no C++ compiler was found, and the observer for torch has to be built here; tried {tried}",
            hint="install g++, or let CXX name a compiler",
        )
    return command


def _has_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except Exception:
        return False


def _tell(quiet: bool, text: str) -> None:
    # A program may have closed it, have none, or have something else in its place.
    with suppress(Exception):
        if not quiet and sys.stderr is not None:
            sys.stderr.write(f"kinetograph: {text}")
            sys.stderr.flush()
