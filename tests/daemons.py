"""What the tests of the daemon share: daemons, programs that poll as PyTorch does, clients by hand."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents import PATIENCE_SECONDS, Agents, wait_until

# Polls as libkineto does, and "records" by writing a file; no PyTorch is needed for it. Its arguments: when
# it shall die, if at all.
POLLING = """
import json, os, socket, struct, sys, time, uuid
client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = "dynoconfigclient" + str(uuid.uuid4())
directory = os.environ.get("KINETO_IPC_SOCKET_DIR", "")
if directory:
    client.bind(os.path.join(directory, name)); daemon = os.path.join(directory, "dynolog")
else:
    client.bind(f"\\0{name}\\0".encode()); daemon = b"\\0dynolog\\0"
client.settimeout(0.09)
job = int(os.environ.get("SLURM_JOB_ID", "0"))
while True:
    pids = (os.getpid(), os.getppid())
    payload = struct.pack("=iiq2i", 3, 2, job, *pids)
    config = b""
    try:
        client.sendto(struct.pack("=Q32s", len(payload), b"req") + payload, daemon)
        config = client.recv(1 << 16)[40:]
    except OSError:
        pass
    if config:
        told = dict(line.split("=") for line in config.decode().splitlines())
        path = told["ACTIVITIES_LOG_FILE"].replace(".json", f"_{os.getpid()}.json", 1)
        open(path + ".tmp", "w").close()
        if "dies" in sys.argv:
            os._exit(1)
        time.sleep(int(told.get("ACTIVITIES_DURATION_MSECS", 1)) / 1000)
        event = dict(ph="X", cat="cpu_op", name="aten::mm", ts=1, dur=2, pid=os.getpid(), tid=1)
        with open(path + ".tmp", "w") as file:
            json.dump({"schemaVersion": 1, "traceEvents": [event], "told": config.decode()}, file)
        os.rename(path + ".tmp", path)
    time.sleep(0.02)
"""


class Daemon:
    """One of a host that is simulated by an address of the loopback, with directories of its own."""

    def __init__(self, agents: Agents, *arguments: object, address: str = "127.0.0.1", port: int = 0) -> None:
        self.agents = agents
        # Who listens everywhere is reached at the loopback, too.
        self.address = "127.0.0.1" if address == "0.0.0.0" else address
        self.kineto = agents.root / "kineto"
        self.kineto.mkdir(exist_ok=True)
        options = ["--listen", address, "--port", port, *arguments]
        self.process = subprocess.Popen(
            agents.command_line("daemon", *options),
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.port = self._told_port()

    @property
    def environment(self) -> dict[str, str]:
        return self.agents.environment | {"KINETO_IPC_SOCKET_DIR": str(self.kineto)}

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    def _told_port(self) -> int:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "listening at" in line:
                return int(line.rpartition(":")[2])
        raise AssertionError("the daemon has ended")

    def start_polling(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """A program that polls as PyTorch does, and is known when this returns."""
        variables = {"KINETO_IPC_SOCKET_DIR": str(self.kineto)} | variables
        before = set(self.agents.sockets.glob("kineto-*.sock"))
        program = self.agents.start_without_agent(POLLING, *arguments, **variables)
        wait_until(lambda: bool(set(self.agents.sockets.glob("kineto-*.sock")) - before))
        return program

    def connection(self) -> socket.socket:
        return socket.create_connection((self.address, self.port), timeout=PATIENCE_SECONDS)

    def call(self, fn: str, **members: Any) -> dict[str, Any] | None:
        """As dynolog's clients do; None if there is no answer."""
        with self.connection() as connection:
            text = json.dumps({"fn": fn, **members}).encode()
            connection.sendall(struct.pack("=i", len(text)) + text)
            received = everything(connection)
        if not received:
            return None
        (length,) = struct.unpack_from("=i", received)
        assert len(received) == 4 + length
        answer: dict[str, Any] = json.loads(received[4:])
        return answer

    def close(self) -> None:
        """What it has said beyond its addresses is a fault that nobody else would see."""
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            said = stderr.read()
            assert said == "", said


class Visiting:
    """Speaks our frames over TCP, written down here a second time."""

    def __init__(self, daemon: Daemon) -> None:
        self.socket = daemon.connection()

    def say(self, kind: bytes, **members: Any) -> None:
        payload = json.dumps(members).encode()
        self.socket.sendall(b"KG\x01" + kind + struct.pack(">I", len(payload)) + payload)

    def hear(self) -> tuple[bytes, bytes] | None:
        """Kind and payload; None when the daemon has hung up."""
        header = self._exactly(8)
        if header is None:
            return None
        assert header[:3] == b"KG\x01"
        payload = self._exactly(*struct.unpack(">I", header[4:]))
        assert payload is not None
        return header[3:4], payload

    def answer(self) -> dict[str, Any]:
        heard = self.hear()
        assert heard is not None, "the daemon has hung up"
        kind, payload = heard
        assert kind == b"A"
        answer: dict[str, Any] = json.loads(payload)
        return answer

    def answer_of(self, *kinds: str) -> dict[str, Any]:
        while (answer := self.answer())["answer"] not in kinds:
            pass
        return answer

    def close(self) -> None:
        self.socket.close()

    def _exactly(self, count: int) -> bytes | None:
        received = b""
        while len(received) < count:
            try:
                more = self.socket.recv(count - len(received))
            except ConnectionResetError:
                return None
            if not more:
                return None
            received += more
        return received


def everything(connection: socket.socket) -> bytes:
    """Until the other side has hung up."""
    received = b""
    try:
        while more := connection.recv(1 << 16):
            received += more
    except ConnectionResetError:
        pass
    return received


@contextmanager
def own_daemon(agents: Agents, *arguments: object, **options: Any) -> Iterator[Daemon]:
    daemon = Daemon(agents, *arguments, **options)
    try:
        yield daemon
    finally:
        daemon.close()


def kineto_file(path: Path) -> str:
    """The text that a polling program was told, from the file that it wrote."""
    return str(json.loads(path.read_text())["told"])
