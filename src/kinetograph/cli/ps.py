"""`kinetograph ps`: the processes that can be looked into."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from kinetograph.cli.host_options import host_options, taken_access, taken_hosts

if TYPE_CHECKING:
    from kinetograph.analysis.grid import Grid
    from kinetograph.ondemand.processes import AgentProcess

__all__ = ["NO_AGENT_HINT", "ps", "shown", "tell_user"]

_SOME_FAILED = 3
NO_AGENT_HINT = "set KINETOGRAPH_AGENT=1 where a program is started, or call kg.start_agent() in it"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, for scripts.")
@host_options
def ps(as_json: bool, **options: Any) -> None:
    """List the processes of this user that have an agent, and so can be captured.

    Those of PyTorch are among them where `kinetograph daemon` runs. A silent one is stopped, or has more
    visitors than it takes. Sockets that dead processes have left are removed. With hosts their daemons are
    asked; the exit status is 3 if not all have answered.

    \b
    Examples:
      KINETOGRAPH_AGENT=1 python train.py &
      kinetograph ps
      kinetograph ps --json | jq .pid
      kinetograph ps --hosts node1,node2
    """
    from kinetograph.ondemand.processes import chosen, processes

    hosts, jobs = taken_hosts(options)
    access = taken_access(options, hosts)
    if hosts is None or access is None:
        _print(processes(tell_user), as_json, with_hosts=False)
        return
    from kinetograph.ondemand.many_hosts import processes_on_hosts

    reports = processes_on_hosts(hosts, access)
    found = [process for report in reports for process in report.processes]
    failed = [report for report in reports if report.reason]
    if found or not failed:
        _print(chosen(found, jobs=jobs), as_json, with_hosts=True)
    for report in failed:
        tell_user(f"host {report.host}: {report.reason}")
    if failed:
        sys.exit(_SOME_FAILED)


def _print(found: list[AgentProcess], as_json: bool, *, with_hosts: bool) -> None:
    from kinetograph.cli.tables import print_grid

    if as_json:
        for process in found:
            members = process._asdict()
            del members["path"]
            click.echo(json.dumps(members))
    elif found:
        print_grid(_grid(found, with_hosts), sys.stdout)
    else:
        click.echo(f"kinetograph: no process of this user has an agent\nhint: {NO_AGENT_HINT}", err=True)


def tell_user(text: str) -> None:
    click.echo(f"kinetograph: {shown(text)}", err=True)


def shown(text: str) -> str:
    """What may come from others is read on a terminal, and does nothing to it."""
    from kinetograph.analysis.grid import printable

    return printable([text])[0]


def _grid(found: list[AgentProcess], with_hosts: bool) -> Grid:
    from kinetograph.analysis.grid import Grid, Heading

    headings = [
        *([Heading("HOST", is_text=True)] if with_hosts else []),
        Heading("PID"),
        Heading("USER", is_text=True, rank=4),
        Heading("JOB", is_text=True, rank=2),
        Heading("RANK", rank=1),
        Heading("STEP", rank=3),
        Heading("STATE", is_text=True),
        Heading("COMMAND", is_text=True, is_name=True),
    ]
    rows = [
        [
            *([process.host] if with_hosts else []),
            str(process.pid),
            process.user,
            process.job or "-",
            "-" if process.rank is None else str(process.rank),
            str(process.step) if process.answers else "-",
            process.state,
            process.command,
        ]
        for process in found
    ]
    return Grid(headings, rows)
