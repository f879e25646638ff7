"""Which processes have an agent, and what they say of themselves."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kinetograph.ondemand.descriptors import allow_many_descriptors
from kinetograph.ondemand.peers import Conversation, agent_sockets, connected, talk
from kinetograph.ondemand.places import KINETO_PREFIX, pid_in_name
from kinetograph.ondemand.told import told_number, told_text
from kinetograph.ondemand.wire import STATUS, framed

__all__ = ["AgentProcess", "chosen", "processes"]

# An agent answers by itself, at once; only a stopped process is silent.
_MOST_SILENCE = 0.4


class AgentProcess(NamedTuple):
    """A process with an agent; of one that did not answer only the pid is known."""

    path: str
    pid: int
    host: str = ""
    command: str = ""
    user: str = ""
    job: str | None = None
    rank: int | None = None
    step: int = 0
    state: str = "silent"
    python: str = ""
    recorder: str = "kinetograph"
    """Or kineto: a process of PyTorch, which a daemon stands in for."""

    @property
    def answers(self) -> bool:
        return self.state != "silent"


class _Asked(Conversation):
    """Asks for `status`, and hears one answer."""

    def __init__(self, path: str, peer: Any) -> None:
        super().__init__(path, peer)
        self.status: dict[str, Any] = {}
        self.send(framed(STATUS))

    def take(self, answer: dict[str, Any]) -> None:
        self.status = answer
        self.is_over = True


def processes(tell: Callable[[str], None]) -> list[AgentProcess]:
    """All of this user's, by pid. Files of processes that are gone are removed.

    `tell` hears of places where nobody is looked for, as others could have answered there.
    """
    allow_many_descriptors()
    asked: list[_Asked] = []
    silent: list[AgentProcess] = []
    for path in agent_sockets(tell):
        try:
            peer = connected(path)
        except BlockingIOError:
            silent.append(_silent(path))
        else:
            asked += [_Asked(path, peer)] if peer is not None else []
    try:
        talk(asked, most_silence=_MOST_SILENCE)
        found = [*silent, *map(_process, asked)]
    finally:
        for conversation in asked:
            conversation.close()
    return sorted(_each_once(found), key=lambda process: process.pid)


def _each_once(found: Iterable[AgentProcess]) -> Iterable[AgentProcess]:
    """Without this process. One of PyTorch that has an agent as well is asked through that."""
    agents = {process.pid for process in found if process.recorder != "kineto"}
    for process in found:
        is_second = process.recorder == "kineto" and process.pid in agents
        if process.pid != os.getpid() and not is_second:
            yield process


def chosen(
    found: Iterable[AgentProcess],
    *,
    pids: tuple[int, ...] = (),
    name: str | None = None,
    jobs: tuple[str, ...] = (),
) -> list[AgentProcess]:
    """Those that fit everything that is given. `name` is a pattern for a part of the command: * and ?."""
    pattern = None if name is None else f"*{name.replace('[', '[[]')}*"
    return [
        process
        for process in found
        if (not pids or process.pid in pids)
        and (pattern is None or fnmatch.fnmatch(process.command, pattern))
        and (not jobs or process.job in jobs)
    ]


def _silent(path: str) -> AgentProcess:
    name = os.path.basename(path)
    recorder = "kineto" if name.startswith(KINETO_PREFIX) else "kinetograph"
    return AgentProcess(path, pid_in_name(name), recorder=recorder)


def _process(asked: _Asked) -> AgentProcess:
    status = asked.status
    if not status:
        return _silent(asked.path)
    return AgentProcess(
        path=asked.path,
        pid=asked.pid,
        host=told_text(status, "host"),
        command=told_text(status, "command"),
        user=_user_name(told_number(status, "uid")),
        job=told_text(status, "job") or None,
        rank=told_number(status, "rank"),
        step=told_number(status, "step") or 0,
        state=told_text(status, "state"),
        python=told_text(status, "python"),
        recorder=told_text(status, "recorder") or "kinetograph",
    )


def _user_name(uid: int | None) -> str:
    import pwd

    try:
        return "" if uid is None else pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)
