"""The table of processes that poll."""

from __future__ import annotations

import asyncio
import os

import pytest

from kinetograph.ondemand.daemon import kineto_processes
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcesses
from kinetograph.ondemand.daemon.kineto_wire import Poll


def test_one_user_cannot_take_the_places_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_processes, "_MOST_OF_ONE_USER", 2)

    async def poll() -> list[bool]:
        processes = KinetoProcesses(lambda _process: None, lambda _process: None)
        ann, bob = 1001, 1002
        polls = [(os.getpid(), ann), (os.getppid(), ann), (1, ann), (1, bob), (os.getpid(), ann)]
        known = [processes.polled(pid, user, Poll(3, 0, (pid,)), b"") for pid, user in polls]
        processes.close()
        return [process is not None for process in known]

    assert asyncio.run(poll()) == [True, True, False, True, True]
