"""Options of verbs that can ask the daemons of other hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kinetograph.errors import UsageError

if TYPE_CHECKING:
    from kinetograph.ondemand.hosts import Host
    from kinetograph.ondemand.visitor import Access

__all__ = ["Hosts", "host_options", "taken_access", "taken_hosts"]

_FILE = click.Path(exists=True, dir_okay=False)
_OPTIONS = (
    click.option("--hosts", metavar="A,B,...", help="On these hosts, through their daemons; host:port."),
    click.option("--hosts-file", type=_FILE, help="On those that this file names, one a line."),
    click.option("--slurm", metavar="JOB", help="On those of this job of Slurm, its processes."),
    click.option(
        "--port", type=click.IntRange(1, 65535), default=1778, show_default=True, help="Of daemons."
    ),
    click.option(
        "--token-file",
        type=_FILE,
        envvar="KINETOGRAPH_TOKEN_FILE",
        show_envvar=True,
        help="A file with the token that daemons demand.",
    ),
    click.option("--tls-ca", type=_FILE, help="Speak TLS with daemons whose certificates this one signed."),
    click.option("--tls-certificate", type=_FILE, help="A certificate to show to daemons."),
    click.option("--tls-key", type=_FILE, help="Its key, if that is in another file."),
)


def host_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Hosts(NamedTuple):
    """Those that are meant; None: this one, without a daemon. And the ids of the job that is meant there."""

    hosts: list[Host] | None = None
    jobs: tuple[str, ...] = ()


def taken_hosts(options: dict[str, Any]) -> Hosts:
    """The hosts that the options name, which are then gone."""
    from kinetograph.ondemand.hosts import hosts_in_file, hosts_named, slurm_job

    port = options.pop("port")
    named, file, job = (options.pop(name) for name in ("hosts", "hosts_file", "slurm"))
    if sum(choice is not None for choice in (named, file, job)) > 1:
        raise UsageError("--hosts, --hosts-file and --slurm exclude each other", hint="give one of them")
    if named is not None:
        return Hosts(hosts_named(named.split(","), port))
    if file is not None:
        return Hosts(hosts_in_file(file, port))
    return Hosts() if job is None else Hosts(*slurm_job(job, port))


def taken_access(options: dict[str, Any], hosts: list[Host] | None) -> Access | None:
    """What the options have for daemons to see; None where none is asked: TLS takes long to load."""
    names = ("token_file", "tls_ca", "tls_certificate", "tls_key")
    token_file, authority, certificate, key = (options.pop(name) for name in names)
    if authority is None and (certificate or key):
        raise UsageError("a certificate is shown to daemons that speak TLS", hint="--tls-ca FILE")
    if hosts is None:
        return None
    from kinetograph.ondemand.secrets import client_tls, read_token
    from kinetograph.ondemand.visitor import Access

    return Access(
        None if token_file is None else read_token(token_file),
        None if authority is None else client_tls(authority, certificate, key),
    )
