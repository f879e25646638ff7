"""The calls of dynolog that its clients make: one a connection, a length and a JSON object each way."""

from __future__ import annotations

import asyncio
import hmac
import os
import struct
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.daemon.kineto_config import checked_config, file_of_process
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess, KinetoProcesses
from kinetograph.ondemand.frames import WITHIN_FRAME_SECONDS
from kinetograph.trace.json_text import strict_json, to_json

__all__ = ["LENGTH_BYTES", "Dynolog"]

_LENGTH = struct.Struct("=i")
LENGTH_BYTES = _LENGTH.size
_MOST_BYTES = 64 * 1024
_MOST_PIDS = 10_000
_DEFAULT_LIMIT = 1000


class Dynolog:
    """`roots` are the directories that traces may be written to."""

    def __init__(self, processes: KinetoProcesses, roots: tuple[str, ...]) -> None:
        self._processes = processes
        self._roots = roots
        self._calls: dict[str, Callable[[dict[str, Any]], dict[str, object]]] = {
            "getStatus": lambda _request: {"status": 1},
            "getVersion": lambda _request: {"version": version("kinetograph")},
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
            answer = call(request)
        text = to_json(answer).encode()
        writer.write(_LENGTH.pack(len(text)) + text)
        async with asyncio.timeout(WITHIN_FRAME_SECONDS):
            await writer.drain()

    def _set_request(self, request: dict[str, Any]) -> dict[str, object]:
        try:
            pids, job, limit = _chosen(request)
            config, path = checked_config(_text(request, "config"), self._roots)
        except KinetographError as error:
            return {"status": f"failed: {error}"}
        matched = [each for each in self._processes if each.poll.job == job and each.is_meant_by(pids)]
        triggered: list[int] = []
        busy = 0
        for process in matched:
            if process.is_busy or _is_in_the_way(path, process):
                busy += 1
            elif len(triggered) < limit:
                process.offer(_with_trace_id(config))
                triggered.append(process.pid)
        return {
            "processesMatched": [process.pid for process in matched],
            "eventProfilersTriggered": [],
            "activityProfilersTriggered": triggered,
            "eventProfilersBusy": 0,
            "activityProfilersBusy": busy,
        }


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


def _is_in_the_way(path: str, process: KinetoProcess) -> bool:
    """A link where the process would write to, or a file, which would be overwritten."""
    return os.path.lexists(file_of_process(path, process.own_pid))
