"""Where sockets and traces lie: directories that nobody but this user can enter."""

from __future__ import annotations

import os
import stat

from kinetograph.errors import UsageError

__all__ = [
    "KINETO_PREFIX",
    "SOCKET_SUFFIX",
    "captures_directory",
    "own_directory",
    "pid_in_name",
    "require_own_sockets",
    "socket_directories",
    "socket_directory",
]

_PREFIX, SOCKET_SUFFIX = "agent-", ".sock"
# Sockets that a daemon has in the name of processes of PyTorch.
KINETO_PREFIX = "kineto-"
_VARIABLE = "KINETOGRAPH_RUNTIME_DIR"
_TEMPORARY = "/tmp"


def socket_directory() -> str:
    """Where an agent of this process puts its socket, made if need be."""
    directory = socket_directories()[0]
    if directory == _without_login():
        own_directory(os.path.dirname(directory))
    return own_directory(directory)


def require_own_sockets(directory: str) -> None:
    """Raises where somebody else may have put a socket: what answers there would be believed."""
    if directory == _without_login():
        _require_own(os.path.dirname(directory))
    _require_own(directory)


def socket_directories() -> list[str]:
    """Where agents may be, ours first: their environment need not be that of whoever looks for them.

    A login that ends takes its /run/user away, and jobs that were never part of one go on. Not TMPDIR, which
    is another one in every job.
    """
    chosen = os.environ.get(_VARIABLE, "")
    if chosen and not os.path.isabs(chosen):
        raise UsageError(
            f"{_VARIABLE}: expected a path from the root, got {chosen!r}",
            hint="whoever looks for agents may stand in another directory",
        )
    if chosen:
        return [chosen]
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    runtime = filter(_is_of_this_user, dict.fromkeys((given, f"/run/user/{os.getuid()}")))
    of_logins = [os.path.join(folder, "kinetograph") for folder in runtime]
    return [*of_logins, _without_login()] if _is_of_this_user(given) else [_without_login(), *of_logins]


def _is_of_this_user(folder: str) -> bool:
    """Not so where root has kept the variable of somebody else: what it made there would be in their way."""
    if not os.path.isabs(folder):
        return False
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def pid_in_name(name: str) -> int:
    """Of the process that a socket of this name is for, as its maker knew it; 0 if it is none of ours."""
    prefix, _, rest = name.partition("-")
    number = rest.partition("-")[0]
    is_ours = f"{prefix}-" in (_PREFIX, KINETO_PREFIX) and name.endswith(SOCKET_SUFFIX)
    return int(number) if is_ours and number.isdecimal() else 0


def captures_directory() -> str:
    """Where this process writes traces that nobody gave a place to."""
    temporary = os.path.abspath(os.environ.get("TMPDIR") or _TEMPORARY)
    ours = own_directory(os.path.join(temporary, f"kinetograph-{os.getuid()}"), "TMPDIR")
    return own_directory(os.path.join(ours, "captures"), "TMPDIR")


def own_directory(path: str, variable: str = _VARIABLE) -> str:
    """Made if it is not there. Raises unless it is this user's, and closed to others.

    `variable` is the one of the environment that could name another place.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise UsageError(
            f"cannot make {path}: {error.strerror}", hint=f"let {variable} name another place"
        ) from error
    _require_own(path, variable)
    return path


def _require_own(path: str, variable: str = _VARIABLE) -> None:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UsageError(
            f"{path} is no directory that only this user can enter",
            hint=f"chmod 700, or let {variable} name another place",
        )


def _without_login() -> str:
    return os.path.join(_TEMPORARY, f"kinetograph-{os.getuid()}", "agents")
