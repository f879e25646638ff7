"""`kinetograph view TRACE`: look at a trace in Perfetto's UI.

The page comes from the web and the trace from this machine: the browser fetches it over loopback, and nobody
else gets it. The page may do so from one port only, which its security policy names.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from urllib.parse import quote, urlsplit

import click

from kinetograph.cli.one_file_server import OneFileServer, serving
from kinetograph.errors import KinetographError
from kinetograph.trace.load import require_trace

__all__ = ["view"]

_UI = "https://ui.perfetto.dev"
_PORT = 9001
_INTERRUPTED = 130


@click.command()
@click.argument("trace", metavar="TRACE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=600,
    show_default=True,
    help="How long to wait for the browser; 0 is for ever.",
)
@click.option("--ui", metavar="URL", default=_UI, show_default=True, help="A Perfetto UI of your own.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="For a UI of your own; 0 is any free one.",
)
def view(trace: Path, no_browser: bool, timeout: float, ui: str, port: int) -> None:
    """Open TRACE in Perfetto's UI, in the browser. Ends when the browser has the trace.

    It opens what `kinetograph` and PyTorch write: .json, .pftrace, and both gzipped. The trace goes from this
    machine to your browser and nowhere else.

    \b
    Examples:
      kinetograph view trace.pftrace
      kinetograph view --no-browser trace.json.gz     print the address
    On another machine, first: ssh -L 9001:127.0.0.1:9001 HOST
    """
    require_trace(trace)
    try:
        with serving(trace, port, _origin(ui)) as server:
            address = f"{ui.rstrip('/')}/#!/?url={quote(server.url, safe='')}"
            _show(address, no_browser)
            _wait(server, timeout)
    except KeyboardInterrupt:
        click.get_current_context().exit(_INTERRUPTED)


def _origin(ui: str) -> str:
    try:
        parts = urlsplit(ui)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise KinetographError(f"--ui: expected the address of a web page, got {ui!r}", hint=f"such as {_UI}")
    return f"{parts.scheme}://{parts.netloc}"


def _show(address: str, no_browser: bool) -> None:
    if not no_browser and _open_browser(address):
        click.echo(f"opened {address}")
    else:
        click.echo(f"open {address}")
    click.echo("waiting for the browser to fetch the trace; Ctrl-C ends", err=True)


def _open_browser(address: str) -> bool:
    # Without a screen, webbrowser would find a text browser and give it the terminal.
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if sys.platform == "linux" and not has_screen:
        return False
    import webbrowser

    return webbrowser.open(address)


def _wait(server: OneFileServer, timeout: float) -> None:
    if not server.fetched.wait(min(timeout, threading.TIMEOUT_MAX) or None):
        raise KinetographError(
            f"no browser has fetched the trace within {timeout:g} s",
            hint="if the page says that it may not access this machine, allow it local network access; "
            "--timeout waits longer",
        )
