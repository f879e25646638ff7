"""An execution trace as a file: nodes as JSON text, written as they come by a thread of its own."""

from __future__ import annotations

import errno
import os
import threading
import time
from contextlib import suppress
from typing import Protocol

from kinetograph.export.gzip_blocks import compressor
from kinetograph.export.replacing import cannot_write, target_of, temporary_beside

__all__ = ["SCHEMA", "ExecutionTraceFile", "Nodes"]

SCHEMA = "1.1.1-chakra.0.0.4"


class Nodes(Protocol):
    """Where they come from. Only one thread at a time takes."""

    def stop(self) -> None: ...
    def wait(self) -> None: ...
    def wake(self) -> None: ...
    def take(self, *, is_last: bool = False) -> bytes: ...  # `is_last` until there is no more
    def close(self) -> int: ...


class ExecutionTraceFile:
    """Open from the start, beside its target and moved there when it is finished.

    Who writes also finishes it, and lets go of the nodes: whoever waits for that may be interrupted. Not
    buffered: a forked child has a copy of every buffer, and would write it a second time.
    """

    def __init__(self, path: str, nodes: Nodes) -> None:
        self.lost_bytes = 0  # they came faster than they could be written
        # As it was meant where the program stood then.
        self.target = target_of(os.path.abspath(path))
        if os.path.isdir(self.target):
            raise cannot_write(self.target, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
        self._nodes = nodes
        self._error: Exception | None = None
        self._is_over = self._is_closed = False
        self._thread: threading.Thread | None = None
        # To be interrupted in Thread.join has Python 3.11 take a thread that runs for one that has ended.
        self._is_written = threading.Event()
        self._compressor = compressor() if path.endswith(".gz") else None
        self._temporary = temporary_beside(self.target)
        try:
            self._file = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise cannot_write(self.target, error) from error
        self._write(_head().encode())

    def start(self) -> None:
        """Write from now on, while the program runs."""
        if self._thread is None:
            thread = threading.Thread(
                target=self._write_nodes, name="kinetograph execution trace", daemon=True
            )
            thread.start()
            self._thread = thread

    def leave_to_writer(self) -> None:
        """Wait for nothing, and take no lock of Python's. Where nobody writes it, `finish` has to follow."""
        self._is_over = True
        self._nodes.wake()

    def finish(self) -> None:
        """The file is in its place when this returns; raises what went wrong with it."""
        self.leave_to_writer()
        if self._thread is not None:
            self._is_written.wait()
            self._thread.join()
        elif not self._is_closed:
            self._finish()
        if self._error is not None:
            raise cannot_write(self.target, self._error) from self._error

    def _write_nodes(self) -> None:
        try:
            while not self._is_over:
                self._nodes.wait()
                self._write(self._nodes.take())
        except Exception as error:
            self._error = error
        try:
            self._finish()
        finally:
            self._is_written.set()

    def _finish(self) -> None:
        try:
            self._nodes.stop()
            while text := self._nodes.take(is_last=True):
                self._write(text)
            self._write(f'\n  ],\n  "finish_ts": {_milliseconds()}\n}}\n'.encode())
        except Exception as error:
            self._error = self._error or error
        finally:
            self.lost_bytes = self._nodes.close()
            self._close()

    def _close(self) -> None:
        self._is_closed = True
        try:
            if self._compressor is not None and self._error is None:
                _write_all(self._file, self._compressor.flush())
            os.close(self._file)
            if self._error is None:
                os.replace(self._temporary, self.target)
        except OSError as error:
            self._error = self._error or error
        if self._error is not None:
            with suppress(OSError):
                self._temporary.unlink()

    def _write(self, text: bytes) -> None:
        """After an error nothing more: what comes is taken all the same, or it would fill the memory."""
        if self._error is not None:
            return
        try:
            _write_all(self._file, text if self._compressor is None else self._compressor.compress(text))
        except OSError as error:
            self._error = error


def _head() -> str:
    return (
        f'{{\n  "schema": "{SCHEMA}", "pid": {os.getpid()}, "time": "{time.strftime("%Y-%m-%d %H:%M:%S")}", '
        f'"start_ts": {_milliseconds()},\n  "nodes": ['
    )


def _milliseconds() -> int:
    return time.monotonic_ns() // 1_000_000


def _write_all(file: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(file, rest) :]
