"""An HTTP server for one file, on loopback, until somebody has fetched it."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

from kinetograph.errors import KinetographError

__all__ = ["OneFileServer", "serving"]

_LOOPBACK = "127.0.0.1"
_PIECE_BYTES = 1 << 20


class OneFileServer(ThreadingHTTPServer):
    """Serves `path` and nothing else, to pages of `origin` and to programs on this machine.

    Threads, because a browser may open connections that it does not use.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, path: Path, port: int, origin: str) -> None:
        self.origin = origin
        self.fetched = threading.Event()
        self.location = "/" + quote(os.fsencode(path.name), safe="")
        self.file = open(path, "rb")  # noqa: SIM115  (closed by server_close)
        try:
            super().__init__((_LOOPBACK, port), _Handler)
        except BaseException:
            self.file.close()
            raise

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}{self.location}"

    def server_close(self) -> None:
        super().server_close()
        self.file.close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news: it may come again."""


class _Handler(BaseHTTPRequestHandler):
    server: OneFileServer
    timeout = 60
    """Seconds; of a client that says nothing."""

    def do_GET(self) -> None:
        size = self._send_head()
        if size is None:
            return
        self._send_file(size)
        self.server.fetched.set()

    def do_HEAD(self) -> None:
        self._send_head()

    def do_OPTIONS(self) -> None:
        """What browsers ask before a public page may touch this machine."""
        if not self._is_welcome():
            return
        self.send_response(HTTPStatus.NO_CONTENT)
        self._send_permission()
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD")
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal belongs to the command."""

    def _send_head(self) -> int | None:
        if not self._is_welcome():
            return None
        size = os.fstat(self.server.file.fileno()).st_size
        self.send_response(HTTPStatus.OK)
        self._send_permission()
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        return size

    def _send_permission(self) -> None:
        self.send_header("Access-Control-Allow-Origin", self.server.origin)
        self.send_header("Vary", "Origin")

    def _send_file(self, size: int) -> None:
        sent = 0
        while sent < size:
            piece = os.pread(self.server.file.fileno(), min(_PIECE_BYTES, size - sent), sent)
            if not piece:
                raise ConnectionAbortedError("the file has become shorter")
            self.wfile.write(piece)
            sent += len(piece)
        self.wfile.flush()

    def _is_welcome(self) -> bool:
        """Answers who is not: pages of other sites, also those whose name was made to lead to loopback."""
        port = self.server.port
        if self.headers.get("Host") not in (f"{_LOOPBACK}:{port}", f"localhost:{port}"):
            self.send_error(HTTPStatus.FORBIDDEN, "this server answers to 127.0.0.1 only")
        elif self.headers.get("Origin") not in (None, self.server.origin):
            self.send_error(HTTPStatus.FORBIDDEN, f"only for {self.server.origin}")
        elif self.path != self.server.location:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            return True
        return False


@contextmanager
def serving(path: Path, port: int, origin: str) -> Iterator[OneFileServer]:
    """The server, running in a thread of its own until the block ends."""
    server = _bound(path, port, origin)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _bound(path: Path, port: int, origin: str) -> OneFileServer:
    try:
        return OneFileServer(path, port, origin)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise KinetographError(
                f"port {port} is in use, and it is the only one where {origin} may fetch a local file",
                hint="end the other viewer (another `kinetograph view`, vizviewer, trace_processor), "
                f"or open {origin} and drop the file there",
            ) from None
        raise KinetographError(f"cannot serve {str(path)!r}: {error.strerror or error}") from error
