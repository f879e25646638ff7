"""`kinetograph daemon`: pass capture requests on to processes of this host, PyTorch's included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kinetograph.ondemand.daemon.front_door import Admission

__all__ = ["daemon"]

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.option("--listen", "address", default="127.0.0.1", show_default=True, help="The address for TCP.")
@click.option("--port", type=click.IntRange(0, 65535), default=1778, show_default=True, help="0: any.")
@click.option("--token-file", type=_FILE, help="Visitors have to know what is in this file.")
@click.option("--tls-certificate", type=_FILE, help="Speak TLS, with this certificate.")
@click.option("--tls-key", type=_FILE, help="Its key, if that is in another file.")
@click.option("--tls-clients", type=_FILE, help="Visitors have to show a certificate that this one signed.")
@click.option(
    "--kineto/--no-kineto",
    "listens_to_kineto",
    default=True,
    help="Listen to PyTorch's processes, or leave them to another daemon.",
)
@click.option(
    "--kineto-directory",
    envvar="KINETO_IPC_SOCKET_DIR",
    show_envvar=True,
    default="",
    type=click.Path(file_okay=False),
    help="The directory of the socket for PyTorch, the same as in its processes.",
)
@click.option("--all-users", is_flag=True, help="Take PyTorch's processes of other users, too.")
@click.option(
    "--output-directory",
    "output_directories",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Where clients of dynolog may have traces written to; repeatable. Else /tmp.",
)
def daemon(**options: Any) -> None:
    """Let processes of this host be listed and captured from others, and those of PyTorch at all.

    Processes of PyTorch that have KINETO_USE_DAEMON=1 in their environment appear in `kinetograph ps`, and
    `kinetograph capture` records them as it does others. Clients of dynolog are answered, at its port.
    `kinetograph capture --hosts` asks the daemons of many hosts. It runs until it gets SIGTERM or Ctrl-C.

    Without a token or certificates only this user is let in, and only from this host; any other address than
    that of the loopback demands one of them. Processes of other users are ignored.

    \b
    Examples:
      kinetograph daemon &
      KINETO_USE_DAEMON=1 python train.py &
      kinetograph capture --all -o traces
      kinetograph daemon --listen 0.0.0.0 --token-file ~/.kinetograph-token
    """
    from kinetograph.cli.ps import tell_user
    from kinetograph.ondemand.daemon.service import Options, serve

    admission = _admission(
        *(options.pop(name) for name in ("token_file", "tls_certificate", "tls_key", "tls_clients"))
    )
    serve(Options(admission=admission, **options), tell_user)


def _admission(
    token_file: str | None, certificate: str | None, key: str | None, clients: str | None
) -> Admission:
    from kinetograph.errors import UsageError
    from kinetograph.ondemand.daemon.front_door import Admission
    from kinetograph.ondemand.secrets import daemon_tls, read_token

    if certificate is None and (key or clients):
        raise UsageError("TLS needs a certificate of this daemon", hint="--tls-certificate FILE")
    return Admission(
        None if token_file is None else read_token(token_file),
        None if certificate is None else daemon_tls(certificate, key, clients),
    )
