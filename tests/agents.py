"""What the tests of agents share: programs that have one, and a peer that speaks to it by hand."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 60

WAITING = "import sys; sys.stdin.read()"
STEPPING = """
import time
import kinetograph as kg
while True:
    with kg.scope("work"):
        time.sleep(0.001)
    kg.step()
"""


class Agents:
    """Directories of their own for the agents of one test, and the programs that it started."""

    def __init__(self) -> None:
        # Short: the path of a socket has 107 letters at most.
        self.root = Path(tempfile.mkdtemp(prefix="kg-"))
        self.sockets = self.root / "sockets"
        (self.root / "tmp").mkdir()
        self._programs: list[subprocess.Popen[str]] = []

    @property
    def environment(self) -> dict[str, str]:
        own = {"KINETOGRAPH_RUNTIME_DIR": str(self.sockets), "TMPDIR": str(self.root / "tmp")}
        others = (
            "KINETOGRAPH_AGENT",
            "KINETO_IPC_SOCKET_DIR",
            "KINETO_USE_DAEMON",
            "KINETOGRAPH_TOKEN_FILE",
            "SLURM_JOB_ID",
            "RANK",
        )
        return {name: value for name, value in os.environ.items() if name not in others} | own

    @property
    def captures(self) -> Path:
        return self.root / "tmp" / f"kinetograph-{os.getuid()}" / "captures"

    def start(self, code: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """A program with an agent, which is there when this returns."""
        program = self.start_without_agent(code, *arguments, **{"KINETOGRAPH_AGENT": "1"} | variables)
        wait_until(lambda: program.poll() is not None or bool(self.sockets_of(program.pid)))
        assert program.poll() is None, "the program has ended"
        return program

    def start_without_agent(self, code: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        program = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env=self.environment | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._programs.append(program)
        return program

    def sockets_of(self, pid: int) -> list[Path]:
        return list(self.sockets.glob(f"agent-{pid}-*.sock"))

    def peer(self, pid: int) -> Peer:
        (path,) = self.sockets_of(pid)
        return Peer(path)

    def command(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """`kinetograph` with these arguments."""
        return subprocess.run(
            self.command_line(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            **options,
        )

    def command_line(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "kinetograph", *map(str, arguments)]

    def close(self) -> None:
        for program in self._programs:
            program.kill()
            program.wait()
            for pipe in filter(None, (program.stdin, program.stdout)):
                pipe.close()
        shutil.rmtree(self.root)


class Peer:
    """Speaks the wire format as the documentation has it, written down here a second time."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.connect(str(path))

    def say(self, kind: bytes, **members: Any) -> None:
        payload = json.dumps(members).encode() if members else b""
        self.socket.sendall(b"KG\x01" + kind + struct.pack(">I", len(payload)) + payload)

    def hear(self) -> dict[str, Any] | None:
        """The next answer; None when the agent has hung up."""
        header = self._exactly(8)
        if header is None:
            return None
        assert header[:4] == b"KG\x01A"
        payload = self._exactly(*struct.unpack(">I", header[4:]))
        assert payload is not None
        answer: dict[str, Any] = json.loads(payload)
        return answer

    def hear_until(self, *answers: str) -> dict[str, Any]:
        while True:
            answer = self.hear()
            assert answer is not None, "the agent has hung up"
            if answer["answer"] in answers:
                return answer

    def asked(self, kind: bytes, **members: Any) -> dict[str, Any]:
        self.say(kind, **members)
        return self.hear_until("status", "accepted", "refused")

    def captured(self, **members: Any) -> dict[str, Any]:
        """The last answer to a capture."""
        self.say(b"C", **members)
        return self.hear_until("finished", "refused", "failed", "cancelled")

    def close(self) -> None:
        self.socket.close()

    def _exactly(self, count: int) -> bytes | None:
        received = b""
        while len(received) < count:
            more = self.socket.recv(count - len(received))
            if not more:
                return None
            received += more
        return received


@contextmanager
def own_agents() -> Iterator[Agents]:
    agents = Agents()
    try:
        yield agents
    finally:
        agents.close()


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up, "waited too long"
        time.sleep(0.005)
