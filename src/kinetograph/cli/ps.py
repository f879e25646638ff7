"""`kinetograph ps`: the processes that can be looked into."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kinetograph.analysis.grid import Grid
    from kinetograph.ondemand.processes import AgentProcess

__all__ = ["NO_AGENT_HINT", "ps", "tell_user"]

NO_AGENT_HINT = "set KINETOGRAPH_AGENT=1 where a program is started, or call kg.start_agent() in it"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, for scripts.")
def ps(as_json: bool) -> None:
    """List the processes of this user that have an agent, and so can be captured.

    A silent one is stopped, or has more visitors than it takes. Sockets that dead processes have left are
    removed.

    \b
    Examples:
      KINETOGRAPH_AGENT=1 python train.py &
      kinetograph ps
      kinetograph ps --json | jq .pid
    """
    from kinetograph.cli.tables import print_grid
    from kinetograph.ondemand.processes import processes

    found = processes(tell_user)
    if as_json:
        for process in found:
            members = process._asdict()
            del members["path"]
            click.echo(json.dumps(members))
        return
    if not found:
        click.echo(f"kinetograph: no process of this user has an agent\nhint: {NO_AGENT_HINT}", err=True)
        return
    print_grid(_grid(found), sys.stdout)


def tell_user(text: str) -> None:
    click.echo(f"kinetograph: {text}", err=True)


def _grid(found: list[AgentProcess]) -> Grid:
    from kinetograph.analysis.grid import Grid, Heading

    headings = [
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
