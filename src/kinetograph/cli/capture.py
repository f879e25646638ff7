"""`kinetograph capture`: record a window of processes that run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kinetograph.cli.activities import ACTIVITIES
from kinetograph.cli.host_options import host_options, taken_access, taken_hosts
from kinetograph.cli.paths import FOLDER_NAME
from kinetograph.cli.sizes import DURATION_NS
from kinetograph.errors import KinetographError, NotAvailable, UsageError

if TYPE_CHECKING:
    from kinetograph.ondemand.capture import Outcome
    from kinetograph.ondemand.hosts import Host
    from kinetograph.ondemand.processes import AgentProcess
    from kinetograph.ondemand.request import CaptureRequest
    from kinetograph.ondemand.visitor import Access

__all__ = ["capture"]

_ALL_FAILED, _SOME_FAILED = 1, 3


class _Report(NamedTuple):
    """Of one host; that of this one has no name."""

    host: str
    outcomes: Sequence[Outcome]
    reason: str = ""
    notes: Sequence[str] = ()


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
@click.option(
    "--activities", type=ACTIVITIES, metavar="NAMES", help="What to record, separated by commas: cpu,cuda."
)
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
    type=FOLDER_NAME,
    help="Where traces go; made.",
)
@host_options
@click.option(
    "--start-in",
    "lead_ns",
    type=DURATION_NS,
    metavar="TIME",
    help="With hosts: how far ahead the common start lies; 2s, or 8s with processes of PyTorch.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the paths of the traces, and errors.")
def capture(**options: Any) -> None:
    """Record a window of processes that run, and bring their traces into a directory.

    The processes need an agent: KINETOGRAPH_AGENT=1 in their environment, or kg.start_agent(). From Python
    3.14 on, --pid starts one where there is none. The paths of the traces are printed, one a line; what else
    there is to say goes to stderr. Ctrl-C withdraws the request. Of a process that ends in the middle, the
    trace is what it had recorded.

    With --hosts, --hosts-file or --slurm the daemons of those hosts are asked (`kinetograph daemon`), all
    processes begin at the same time, and traces are named by host and rank. A host that fails is told of, and
    does not keep the others from theirs. `kinetograph merge` makes one trace of them.

    The exit status is 0 if every process and host gave its traces, 3 if only some did, 1 if none.

    \b
    Examples:
      kinetograph capture --pid 4711 -o traces
      kinetograph capture --name train.py --steps 10 --with-stack -o traces
      kinetograph capture --job 815 --duration 2s --cuda -o traces
      kinetograph capture --hosts node1,node2 --name train.py -o traces
      kinetograph capture --slurm 815 -o traces && kinetograph merge traces -o job.pftrace
    """
    quiet, directory, lead_ns = (options.pop(name) for name in ("quiet", "directory", "lead_ns"))
    hosts, jobs = taken_hosts(options)
    access = taken_access(options, hosts)
    choice = _choice(options, jobs)
    request = _request(options)
    _require_common_start(lead_ns, hosts, request)
    if hosts is None or access is None:
        reports = [_captured_here(choice, request, directory, quiet)]
    else:
        reports = _captured_there(hosts, access, choice, request, directory, quiet, lead_ns)
    for report in reports:
        _tell_of(report, quiet)
    status = _status(reports)
    if status:
        sys.exit(status)


def _choice(options: dict[str, Any], jobs: tuple[str, ...]) -> dict[str, Any]:
    """What processes have to fit; a job of Slurm means its own."""
    job = options.pop("job")
    choice = {"jobs": (job,) if job else jobs, **{name: options.pop(name) for name in ("pids", "name")}}
    if not options.pop("all_processes") and not any(choice.values()):
        raise UsageError(
            "which processes?", hint="--pid, --name, --job or --all; `kinetograph ps` lists them"
        )
    return choice


def _request(options: dict[str, Any]) -> CaptureRequest:
    from kinetograph.ondemand.request import CaptureRequest

    if options.pop("cuda"):
        options["activities"] = options["activities"] or ("CPU", "CUDA")
    options["activities"] = options["activities"] or ("CPU",)
    return CaptureRequest(**options)


def _require_common_start(lead_ns: int | None, hosts: list[Host] | None, request: CaptureRequest) -> None:
    if lead_ns is not None and (hosts is None or request.starts_at_step or request.ring_dump):
        raise UsageError(
            "--start-in is for a time that is common to many hosts",
            hint="name hosts and a --duration",
        )


def _captured_here(choice: dict[str, Any], request: CaptureRequest, directory: str, quiet: bool) -> _Report:
    from kinetograph.cli.progress import progress
    from kinetograph.ondemand.capture import capture as capture_all

    found, without_agent = _chosen(**choice)
    _make(directory)
    _tell_of_no_steps(found, request, quiet)
    with progress(quiet) as tell:
        return _Report("", [*capture_all(found, request, directory, tell), *without_agent])


def _captured_there(
    hosts: list[Host],
    access: Access,
    choice: dict[str, Any],
    request: CaptureRequest,
    directory: str,
    quiet: bool,
    lead_ns: int | None,
) -> list[_Report]:
    from kinetograph.cli.progress import progress
    from kinetograph.ondemand.many_hosts import capture_on_hosts
    from kinetograph.ondemand.processes import chosen

    def choose(found: list[AgentProcess]) -> list[AgentProcess]:
        meant = chosen(found, **choice)
        _tell_of_no_steps(meant, request, quiet)
        return meant

    _make(directory)
    with progress(quiet) as tell:
        reports = capture_on_hosts(hosts, choose, request, directory, access, tell, lead_ns)
    return [_Report(str(report.host), report.outcomes, report.reason, report.notes) for report in reports]


def _tell_of_no_steps(found: list[AgentProcess], request: CaptureRequest, quiet: bool) -> None:
    """They may never tell of one, and are waited for all the same. PyTorch's steps nobody knows."""
    from kinetograph.cli.ps import tell_user

    waits = request.starts_at_step and not request.ring_dump
    for process in found if waits and not quiet else ():
        if process.answers and not process.step and process.recorder != "kineto":
            tell_user(f"process {process.pid} has told of no step yet, and is waited for: kg.step() tells")


def _chosen(
    pids: tuple[int, ...], name: str | None, jobs: tuple[str, ...]
) -> tuple[list[AgentProcess], list[Outcome]]:
    """Those that are meant, and what became of those that have no agent. Raises if there are no others."""
    from kinetograph.cli.ps import tell_user
    from kinetograph.ondemand.processes import chosen, processes

    everybody = processes(tell_user)
    missing = set(pids) - {process.pid for process in everybody}
    failures = {pid: error for pid in sorted(missing) if (error := _failure_to_give_agent(pid))}
    if missing:
        everybody = processes(tell_user)
    found = chosen(everybody, pids=pids, name=name, jobs=jobs)
    if not found and failures:
        raise next(iter(failures.values()))
    if not found:
        raise NotAvailable(
            "no process with an agent is meant by that", hint="`kinetograph ps` lists those that have one"
        )
    return found, [_without_agent(pid, error) for pid, error in failures.items()]


def _without_agent(pid: int, error: KinetographError) -> Outcome:
    from kinetograph.ondemand.capture import Outcome
    from kinetograph.ondemand.processes import AgentProcess

    return Outcome(AgentProcess("", pid), "failed", reason=str(error).replace("\nhint: ", "; "))


def _failure_to_give_agent(pid: int) -> KinetographError | None:
    try:
        _give_agent(pid)
    except KinetographError as error:
        return error
    return None


def _give_agent(pid: int) -> None:
    """To a process that has none. Raises where that cannot be."""
    from kinetograph.cli.ps import NO_AGENT_HINT
    from kinetograph.ondemand.places import socket_directories
    from kinetograph.ondemand.remote_start import can_start_agents, start_agent_in

    _require_own_process(pid)
    if not can_start_agents():
        raise NotAvailable(f"process {pid} has no agent", hint=f"next time, {NO_AGENT_HINT}")
    directory = os.path.dirname(start_agent_in(pid))
    if directory not in socket_directories():  # by its environment, which is another one
        raise NotAvailable(
            f"process {pid} has an agent now, in {directory}, where nobody looks for it",
            hint=f"ask again with KINETOGRAPH_RUNTIME_DIR={directory}",
        )


def _require_own_process(pid: int) -> None:
    try:
        user = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        raise UsageError(
            f"there is no process {pid}", hint="`kinetograph ps` lists those that can be captured"
        ) from None
    if user != os.geteuid():
        raise NotAvailable(
            f"process {pid} belongs to another user, and an agent lets nobody else in, root neither",
            hint=f"be that user: sudo -u '#{user}' kinetograph capture --pid {pid} ...",
        )


def _make(directory: str) -> None:
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make {directory}: {error.strerror}", hint="name another directory"
        ) from error
    if not os.access(directory, os.W_OK | os.X_OK):  # known before anything is recorded
        raise UsageError(f"cannot write to {directory}", hint="name another directory")


def _status(reports: list[_Report]) -> int:
    """What was hoped for is a trace of every process, and at least one of every host."""
    given = [outcome.has_trace for report in reports for outcome in report.outcomes]
    given += [False for report in reports if report.reason]
    if all(given):
        return 0
    return _SOME_FAILED if any(given) else _ALL_FAILED


def _tell_of(report: _Report, quiet: bool) -> None:
    from kinetograph.cli.ps import shown, tell_user

    where = f"host {report.host}, " if report.host else ""
    if report.reason:
        tell_user(f"host {report.host} was not captured: {report.reason}")
    for note in report.notes:
        tell_user(f"host {report.host}: {note}")
    for outcome in report.outcomes:
        if outcome.path is not None:
            click.echo(outcome.path)
        if not quiet or not outcome.has_trace:
            tell_user(f"{where}{_sentence(outcome)}")
            for note in outcome.notes:
                click.echo(f"  note: {shown(note)}", err=True)


def _sentence(outcome: Outcome) -> str:
    from kinetograph.trace.words import counted

    rank = "" if outcome.process.rank is None else f" (rank {outcome.process.rank})"
    who = f"process {outcome.process.pid}{rank}"
    because = f": {outcome.reason}" if outcome.reason else ""
    if outcome.has_trace:
        events = "" if outcome.events is None else f"{counted(outcome.events, 'event')}, "
        return f"{who} gave {events}{outcome.size_bytes:,} bytes{because}"
    if outcome.status == "finished":
        return f"{who} has recorded, and gave no trace"
    return f"{who} was not captured, {outcome.status}{because}"
