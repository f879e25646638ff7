"""Captures on many hosts at once: what `kinetograph capture --hosts` does, without the talking."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from kinetograph.errors import KinetographError
from kinetograph.ondemand.capture import Outcome, Tell, free_path
from kinetograph.ondemand.descriptors import allow_many_descriptors
from kinetograph.ondemand.hosts import Host
from kinetograph.ondemand.lookups import Lookups
from kinetograph.ondemand.processes import AgentProcess
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.told import told_number, told_suffix, told_text, told_texts
from kinetograph.ondemand.visitor import Access, Unwritable, Visitor

__all__ = ["HostReport", "capture_on_hosts", "processes_on_hosts"]

Choose = Callable[[list[AgentProcess]], list[AgentProcess]]

# For all hosts to hear of it and to make ready; PyTorch's processes look for requests every five seconds.
_LEAD_NS, _LEAD_OF_KINETO_NS = 2_000_000_000, 8_000_000_000
# What is worth a note: more than that apart is not "together".
_TOGETHER_NS = 5_000_000
_LOST = (KinetographError, OSError, TimeoutError, asyncio.IncompleteReadError)


class HostReport(NamedTuple):
    """What became of one host. Without a reason, each of its processes has an outcome."""

    host: Host
    outcomes: Sequence[Outcome] = ()
    reason: str = ""
    notes: Sequence[str] = ()
    processes: Sequence[AgentProcess] = ()


def processes_on_hosts(hosts: Sequence[Host], access: Access) -> list[HostReport]:
    """What runs there, of what can be captured."""

    async def look() -> list[HostReport]:
        return [await _left(each) for each in await _asked(hosts, access)]

    return asyncio.run(look())


def capture_on_hosts(
    hosts: Sequence[Host],
    choose: Choose,
    request: CaptureRequest,
    directory: str,
    access: Access,
    tell: Tell,
    lead_ns: int | None = None,
) -> list[HostReport]:
    """All begin at the same time, `lead_ns` after all have answered, and their files come into `directory`.

    A host that cannot be reached, or is lost on the way, does not keep the others from theirs. Ctrl-C
    withdraws the request, everywhere.
    """
    capturing = _Capturing(request, choose, directory, tell, lead_ns)
    return asyncio.run(capturing.run(hosts, access))


class _Asked(NamedTuple):
    """A host that answers has a visitor, and the processes that can be captured there."""

    host: Host
    visitor: Visitor | None = None
    processes: Sequence[AgentProcess] = ()
    reason: str = ""


async def _asked(hosts: Sequence[Host], access: Access) -> list[_Asked]:
    allow_many_descriptors()
    lookups = Lookups()
    return await asyncio.gather(*(_ask(host, access, lookups) for host in hosts))


async def _ask(host: Host, access: Access, lookups: Lookups) -> _Asked:
    try:
        visitor = await Visitor.arrived(host, access, lookups)
    except _LOST as error:
        return _Asked(host, reason=_spelled(error))
    try:
        return _Asked(host, visitor, await visitor.processes())
    except _LOST as error:
        await visitor.leave()
        return _Asked(host, reason=_spelled(error))


async def _left(asked: _Asked) -> HostReport:
    if asked.visitor is not None:
        await asked.visitor.leave()
    return HostReport(asked.host, reason=asked.reason, processes=asked.processes)


class _Capturing:
    def __init__(
        self, request: CaptureRequest, choose: Choose, directory: str, tell: Tell, lead_ns: int | None
    ) -> None:
        self._request = request
        self._choose = choose
        self._directory = directory
        self._tell = tell
        self._lead_ns = lead_ns
        self._visitors: list[Visitor] = []

    async def run(self, hosts: Sequence[Host], access: Access) -> list[HostReport]:
        self._tell(f"asking {len(hosts)} hosts")
        asked = [
            each._replace(processes=self._choose([*each.processes])) for each in await _asked(hosts, access)
        ]
        self._visitors = [each.visitor for each in asked if each.visitor is not None]
        request = self._at_one_time([process for each in asked for process in each.processes])
        with self._withdrawn_by_interrupt():
            try:
                return await asyncio.gather(*(self._capture(each, request) for each in asked))
            finally:
                await asyncio.gather(*(visitor.leave() for visitor in self._visitors))

    def _at_one_time(self, processes: Sequence[AgentProcess]) -> CaptureRequest:
        """Steps come when they come; `start_step_multiple` has all ranks begin with the same."""
        if self._request.starts_at_step or self._request.ring_dump:
            return self._request
        has_kineto = any(process.recorder == "kineto" for process in processes)
        lead_ns = self._lead_ns or (_LEAD_OF_KINETO_NS if has_kineto else _LEAD_NS)
        return self._request.replace(start_time_ns=time.time_ns() + lead_ns)

    @contextmanager
    def _withdrawn_by_interrupt(self) -> Iterator[None]:
        """The second Ctrl-C is Python's."""
        loop = asyncio.get_running_loop()
        withdrawing: set[asyncio.Task[None]] = set()

        def withdraw() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            withdrawing.update(loop.create_task(visitor.withdraw()) for visitor in self._visitors)

        loop.add_signal_handler(signal.SIGINT, withdraw)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _capture(self, asked: _Asked, request: CaptureRequest) -> HostReport:
        report = HostReport(asked.host, reason=asked.reason, notes=_doubts(asked.visitor))
        if asked.visitor is None or asked.reason:
            return report
        if not asked.processes:
            return report._replace(reason="no process with an agent is meant by that")
        outcomes: list[Outcome] = []
        try:
            await self._collect(asked, request, outcomes)
        except _LOST as error:
            known = {outcome.process.pid for outcome in outcomes}
            lost = [process for process in asked.processes if process.pid not in known]
            what = "" if isinstance(error, Unwritable) else "nothing more came from its host: "
            reason = f"{what}{_spelled(error)}"
            outcomes += [Outcome(process, "failed", reason=reason) for process in lost]
        return report._replace(outcomes=outcomes)

    async def _collect(self, asked: _Asked, request: CaptureRequest, outcomes: list[Outcome]) -> None:
        """All outcomes first: who is asked for a file cannot tell of others meanwhile."""
        assert asked.visitor is not None
        processes = {process.pid: process for process in asked.processes}
        told: dict[int | None, dict[str, Any]] = {}
        async for answer in asked.visitor.capture(request, [*processes], self._tell):
            pid = told_number(answer, "pid")
            if pid in processes:
                told.setdefault(pid, answer)
        for pid, process in processes.items():
            # Of one that a daemon leaves out, nobody would notice.
            answer = told.get(pid, {"reason": "its daemon has told nothing of it"})
            outcomes.append(await self._fetched(asked.visitor, process, answer, request.start_time_ns))

    async def _fetched(
        self, visitor: Visitor, process: AgentProcess, answer: dict[str, Any], start_ns: int | None
    ) -> Outcome:
        outcome = _outcome(process, answer, start_ns)
        file, size_bytes = told_number(answer, "file"), told_number(answer, "size_bytes")
        if file is None or size_bytes is None:
            return outcome
        path = free_path(self._directory, process, told_suffix(answer.get("suffix")))
        self._tell(f"{visitor.host}: fetching {path}")
        await visitor.fetch(file, size_bytes, path)
        return outcome._replace(path=path, size_bytes=size_bytes)


def _doubts(visitor: Visitor | None) -> list[str]:
    """Times in traces are those of each host, and so is the time to begin."""
    if visitor is None or abs(visitor.clock_offset_ns) <= visitor.clock_error_ns + _TOGETHER_NS:
        return []
    which = "ahead of" if visitor.clock_offset_ns > 0 else "behind"
    return [f"its clock is {abs(visitor.clock_offset_ns) / 1e6:.0f} ms {which} the one of this host"]


def _outcome(process: AgentProcess, answer: dict[str, Any], asked_ns: int | None) -> Outcome:
    start_ns = told_number(answer, "start_ns")
    notes = told_texts(answer, "notes")
    if start_ns is not None and asked_ns is not None and start_ns - asked_ns > _TOGETHER_NS:
        notes.append(f"it began {(start_ns - asked_ns) / 1e6:.0f} ms late")
    return Outcome(
        process,
        told_text(answer, "status") or "failed",
        events=told_number(answer, "events"),
        reason=told_text(answer, "reason"),
        notes=notes,
        start_ns=start_ns,
    )


def _spelled(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return "it does not answer"
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error.args[:1]):
        return "nobody listens there: does `kinetograph daemon` run?"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)  # asyncio has words of its own for it, which say less
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).replace("\nhint: ", "; ") or type(error).__name__
