"""The calls of dynolog that its clients make: one a connection, a length and a JSON object each way."""

from __future__ import annotations

import asyncio
import hmac
import os
import struct
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.daemon.agent_captures import AgentCaptures
from kinetograph.ondemand.daemon.kineto_config import checked_config, file_of_process
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess, KinetoProcesses
from kinetograph.ondemand.daemon.kineto_request import request_for
from kinetograph.ondemand.frames import WITHIN_FRAME_SECONDS
from kinetograph.ondemand.processes import AgentProcess
from kinetograph.trace.json_text import strict_json, to_json

__all__ = ["LENGTH_BYTES", "Dynolog"]

_LENGTH = struct.Struct("=i")
LENGTH_BYTES = _LENGTH.size
_MOST_BYTES = 64 * 1024
_MOST_PIDS = 10_000
_DEFAULT_LIMIT = 1000


class Dynolog:
    """`roots` are the directories that traces may be written to."""

    def __init__(self, processes: KinetoProcesses, agents: AgentCaptures, roots: tuple[str, ...]) -> None:
        self._processes = processes
        self._agents = agents
        self._roots = roots
        self._calls: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, object]]]] = {
            "getStatus": _status,
            "getVersion": _version,
            "setKinetOnDemandRequest": self._set_request,
        }

    async def serve(
        self, begun: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: bytes | None
    ) -> None:
        """One call; malformed or unknown ones get no answer, as dynolog has it. `begun` is the length."""
        request = await _read(begun, reader)
        call = self._calls.get(str(request.get("fn")))
        if call is None:
            return
        if token is not None and not _has_token(request, token):
            answer: dict[str, object] = {"status": "failed: this daemon demands its token, as member token"}
        else:
            answer = await call(request)
        text = to_json(answer).encode()
        writer.write(_LENGTH.pack(len(text)) + text)
        async with asyncio.timeout(WITHIN_FRAME_SECONDS):
            await writer.drain()

    async def _set_request(self, request: dict[str, Any]) -> dict[str, object]:
        try:
            pids, job, limit = _chosen(request)
            config, path = checked_config(_text(request, "config"), self._roots)
            request_for(config, has_steps=True)  # raises what an agent would not understand
            matched = await self._matching(job, pids)
        except KinetographError as error:
            return {"status": f"failed: {error}"}
        triggered: list[int] = []
        busy = 0
        for process in matched:
            if self._is_busy(process) or _is_in_the_way(path, process):
                busy += 1
            elif len(triggered) < limit:
                self._trigger(process, _with_trace_id(config), path)
                triggered.append(process.pid)
        return {
            "processesMatched": [process.pid for process in matched],
            "eventProfilersTriggered": [],
            "activityProfilersTriggered": triggered,
            "eventProfilersBusy": 0,
            "activityProfilersBusy": busy,
        }

    async def _matching(self, job: int, pids: set[int]) -> list[KinetoProcess | AgentProcess]:
        """PyTorch is asked itself where it polls, also in a process that has an agent besides."""
        agents = await self._agents.matching(job, pids)
        polling = [*self._processes]
        known = {process.pid for process in polling}
        meant = [each for each in polling if each.poll.job == job and each.is_meant_by(pids)]
        return [*meant, *(agent for agent in agents if agent.pid not in known)]

    def _is_busy(self, process: KinetoProcess | AgentProcess) -> bool:
        return process.is_busy if isinstance(process, KinetoProcess) else self._agents.is_busy(process)

    def _trigger(self, process: KinetoProcess | AgentProcess, config: str, path: str) -> None:
        if isinstance(process, KinetoProcess):
            process.offer(config)
            return
        request = request_for(config, has_steps=process.step > 0)
        if request is not None:
            self._agents.begin(process, request, _file_of(path, process))


async def _status(_request: dict[str, Any]) -> dict[str, object]:
    return {"status": 1}


async def _version(_request: dict[str, Any]) -> dict[str, object]:
    return {"version": version("kinetograph")}


async def _read(begun: bytes, reader: asyncio.StreamReader) -> dict[str, Any]:
    (length,) = _LENGTH.unpack(begun)
    if not 0 < length <= _MOST_BYTES:
        raise KinetographError(f"a call of {length} bytes is none of dynolog's")
    async with asyncio.timeout(WITHIN_FRAME_SECONDS):
        payload = await reader.readexactly(length)
    try:
        request = strict_json(payload.decode())
    except ValueError as error:
        raise KinetographError(f"expected a JSON object: {error}") from None
    if not isinstance(request, dict):
        raise KinetographError(f"expected a JSON object, got {type(request).__name__}")
    return request


def _has_token(request: dict[str, Any], token: bytes) -> bool:
    given = request.get("token")
    return isinstance(given, str) and hmac.compare_digest(given.encode(errors="replace"), token)


def _text(request: dict[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{name}: expected a text")
    return value


def _chosen(request: dict[str, Any]) -> tuple[set[int], int, int]:
    """The pids that are meant, none for all; the job; and how many at most."""
    pids = request.get("pids")
    if not isinstance(pids, list) or len(pids) > _MOST_PIDS or not all(map(_is_int, pids)):
        raise UsageError("pids: expected a list of whole numbers")
    job, limit = request.get("job_id", 0), request.get("process_limit", _DEFAULT_LIMIT)
    if not _is_int(job) or not _is_int(limit):
        raise UsageError("job_id and process_limit: expected whole numbers")
    return set(pids) - {0}, job, limit


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _with_trace_id(config: str) -> str:
    """As dynolog gives one to every process."""
    return config if "REQUEST_TRACE_ID=" in config else f"{config}REQUEST_TRACE_ID={os.urandom(16).hex()}\n"


def _file_of(path: str, process: KinetoProcess | AgentProcess) -> str:
    own_pid = process.own_pid if isinstance(process, KinetoProcess) else process.pid
    return file_of_process(path, own_pid)


def _is_in_the_way(path: str, process: KinetoProcess | AgentProcess) -> bool:
    """A link where the process would write to, or a file, which would be overwritten."""
    written = _file_of(path, process)
    return os.path.lexists(written) or os.path.lexists(f"{written}.tmp")
