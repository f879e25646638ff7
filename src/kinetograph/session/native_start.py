"""The start of a session in the recorder: what memory it has, and where its files lie."""

from __future__ import annotations

import os
from contextlib import suppress

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.session.config import RecordOptions

__all__ = ["start_native"]


def start_native(
    kept: list[int], options: RecordOptions, directory: str | None, all_threads: bool, starts_paused: bool
) -> None:
    """The number of the session is in `kept` then, wherever an interrupt comes."""
    try:
        _native.start_session(
            kept,
            all_threads=all_threads,
            starts_paused=starts_paused,
            memory_limit_bytes=options.memory_limit_bytes,
            drop_at_limit=options.at_limit == "drop",
            ring_bytes=_ring_bytes(options),
            ring_ns=max(1, int(options.ring_seconds * 1e9)) if options.ring_seconds else 0,
            spill_directory=directory or "",
            session_directory=(directory or _own_directory()) if options.crash_safe else "",
        )
    except (OSError, ValueError) as error:
        raise KinetographError(
            f"cannot record to {directory or 'the temporary directory'}: {error}",
            hint="name another directory",
        ) from error


def _ring_bytes(options: RecordOptions) -> int:
    """0 where no size is set: without a ring, or with one of seconds only."""
    if options.mode != "ring" or (options.ring_seconds is not None and options.ring_bytes is None):
        return 0
    # Half of the limit is for building and writing the trace.
    return max(1, min(options.ring_limit_bytes, options.memory_limit_bytes // 2))


def _own_directory() -> str:
    """Where session files go without a `directory`: a folder of this user's among the temporary files."""
    import tempfile

    directory = os.path.join(tempfile.gettempdir(), f"kinetograph-{os.getuid()}")
    with suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    # Everybody can make folders there, and whoever owns this one could read and change what is recorded.
    if os.lstat(directory).st_uid != os.getuid():
        raise OSError(f"{directory} belongs to another user")
    return directory
