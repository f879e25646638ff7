"""`kinetograph capture`: record a window of processes that run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from kinetograph.cli.sizes import DURATION_NS
from kinetograph.errors import KinetographError, NotAvailable, UsageError

if TYPE_CHECKING:
    from kinetograph.ondemand.capture import Outcome
    from kinetograph.ondemand.processes import AgentProcess

__all__ = ["capture"]

_ALL_FAILED, _SOME_FAILED = 1, 3


@click.command()
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, help="This process; repeatable.")
@click.option("--name", metavar="PATTERN", help="Processes whose command has this in it; * and ? are wild.")
@click.option("--job", metavar="ID", help="Processes of this job of the scheduler.")
@click.option("--all", "all_processes", is_flag=True, help="All processes of this user that have an agent.")
@click.option(
    "--duration", "duration_ns", type=DURATION_NS, metavar="TIME", help="How long; 500ms by default."
)
@click.option(
    "--steps", type=click.IntRange(min=1), metavar="N", help="So many steps of the program instead."
)
@click.option("--start-step", type=click.IntRange(min=0), metavar="K", help="Begin with step K.")
@click.option(
    "--start-step-multiple", type=click.IntRange(min=1), metavar="M", help="Begin with a multiple of M."
)
@click.option("--activities", metavar="NAMES", help="What to record, separated by commas: cpu,cuda.")
@click.option("--cuda", is_flag=True, help="The same as --activities cpu,cuda.")
@click.option("--record-shapes", "report_input_shapes", is_flag=True, help="Note the shapes of inputs.")
@click.option("--profile-memory", is_flag=True, help="Record allocations.")
@click.option("--with-stack", is_flag=True, help="Record Python calls.")
@click.option("--with-flops", is_flag=True, help="Estimate the FLOPs of operators.")
@click.option("--with-modules", is_flag=True, help="Give operators their module.")
@click.option("--ring", "ring_dump", is_flag=True, help="No new recording: what the agent's ring holds.")
@click.option("--trace-id", default="", metavar="ID", help="An id for the traces.")
@click.option(
    "-o",
    "--output",
    "directory",
    required=True,
    type=click.Path(file_okay=False),
    help="Where traces go; made.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the paths of the traces, and errors.")
def capture(**options: Any) -> None:
    """Record a window of processes that run, and bring their traces into a directory.

    The processes need an agent: KINETOGRAPH_AGENT=1 in their environment, or kg.start_agent(). The paths of
    the traces are printed, one a line; what else there is to say goes to stderr. Ctrl-C withdraws the
    request. Of a process that ends in the middle, the trace is what it had recorded.

    The exit status is 0 if every process gave a trace, 3 if only some did, 1 if none.

    \b
    Examples:
      kinetograph capture --pid 4711 -o traces
      kinetograph capture --name train.py --steps 10 --with-stack -o traces
      kinetograph capture --job 815 --duration 2s --cuda -o traces
    """
    from kinetograph.cli.progress import progress
    from kinetograph.ondemand.capture import capture as capture_all
    from kinetograph.ondemand.request import CaptureRequest

    quiet, directory = options.pop("quiet"), options.pop("directory")
    found = _chosen(options)
    if options.pop("cuda"):
        options["activities"] = options["activities"] or "cpu,cuda"
    options["activities"] = tuple((options["activities"] or "cpu").upper().split(","))
    request = CaptureRequest(**options)
    _make(directory)
    with progress(quiet) as tell:
        outcomes = capture_all(found, request, directory, tell)
    _report(outcomes, quiet)
    failures = sum(not outcome.has_trace for outcome in outcomes)
    if failures:
        sys.exit(_ALL_FAILED if failures == len(outcomes) else _SOME_FAILED)


def _chosen(options: dict[str, Any]) -> list[AgentProcess]:
    from kinetograph.cli.ps import tell_user
    from kinetograph.ondemand.processes import chosen, processes

    pids, name, job = options.pop("pids"), options.pop("name"), options.pop("job")
    if not options.pop("all_processes") and not pids and name is None and job is None:
        raise UsageError(
            "which processes?", hint="--pid, --name, --job or --all; `kinetograph ps` lists them"
        )
    everybody = processes(tell_user)
    missing = [pid for pid in pids if pid not in (process.pid for process in everybody)]
    if missing:
        raise _without_agent(missing[0])
    found = chosen(everybody, pids=pids, name=name, job=job)
    if not found:
        raise NotAvailable(
            "no process with an agent is meant by that", hint="`kinetograph ps` lists those that have one"
        )
    return found


def _without_agent(pid: int) -> KinetographError:
    from kinetograph.cli.ps import NO_AGENT_HINT

    if not os.path.exists(f"/proc/{pid}"):
        return UsageError(
            f"there is no process {pid}", hint="`kinetograph ps` lists those that can be captured"
        )
    return NotAvailable(
        f"process {pid} has no agent, or one of another user", hint=f"next time, {NO_AGENT_HINT}"
    )


def _make(directory: str) -> None:
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make {directory}: {error.strerror}", hint="name another directory"
        ) from error


def _report(outcomes: list[Outcome], quiet: bool) -> None:
    for outcome in outcomes:
        if outcome.path is not None:
            click.echo(outcome.path)
        if not quiet or not outcome.has_trace:
            click.echo(f"kinetograph: {_sentence(outcome)}", err=True)
            for note in outcome.notes:
                click.echo(f"  note: {note}", err=True)


def _sentence(outcome: Outcome) -> str:
    from kinetograph.trace.words import counted

    who = f"process {outcome.process.pid}"
    because = f": {outcome.reason}" if outcome.reason else ""
    if outcome.has_trace:
        return f"{who} gave {counted(outcome.events, 'event')}, {outcome.size_bytes:,} bytes{because}"
    if outcome.status == "finished":
        return f"{who} has recorded, and gave no trace"
    return f"{who} was not captured, {outcome.status}{because}"
