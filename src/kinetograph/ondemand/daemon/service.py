"""The daemon as a whole: its sockets open, until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from kinetograph.ondemand.daemon.dynolog import Dynolog
from kinetograph.ondemand.daemon.front_door import MOST_VISITORS, Admission, FrontDoor
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess, KinetoProcesses
from kinetograph.ondemand.daemon.kineto_socket import KinetoSocket
from kinetograph.ondemand.daemon.stand_in import StandIn
from kinetograph.ondemand.hosts import DEFAULT_PORT
from kinetograph.ondemand.peers import agent_sockets, connected
from kinetograph.ondemand.places import captures_directory, socket_directory

__all__ = ["Options", "serve"]

Tell = Callable[[str], None]

# Kineto itself writes traces on demand to no other place, in its newer versions.
_TEMPORARY = "/tmp"


class Options(NamedTuple):
    address: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    admission: Admission = Admission()
    listens_to_kineto: bool = True
    kineto_directory: str = ""
    """As KINETO_IPC_SOCKET_DIR; empty: the abstract socket."""
    all_users: bool = False
    output_directories: tuple[str, ...] = ()
    """Where requests of dynolog's may have traces written to."""


def serve(options: Options, tell: Tell) -> None:
    """Until SIGTERM or SIGINT. Raises what keeps it from beginning."""
    if options.address == "localhost":
        options = options._replace(address="127.0.0.1")
    asyncio.run(_serve(options, tell))


async def _serve(options: Options, tell: Tell) -> None:
    is_over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, is_over.set)
    # A thread for every capture, and some for those who only look: Python's own are a few per core.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * MOST_VISITORS))
    options.admission.require_enough_for(options.address)
    _remove_stale_sockets()
    async with _kineto(options, tell) as processes:
        dynolog = Dynolog(processes, options.output_directories or (captures_directory(), _TEMPORARY))
        door = FrontDoor(options.admission, dynolog)
        port = await door.open(options.address, options.port)
        tell(f"listening at {options.address}:{port}")
        try:
            await is_over.wait()
        finally:
            await door.close()


@asynccontextmanager
async def _kineto(options: Options, tell: Tell) -> AsyncIterator[KinetoProcesses]:
    """PyTorch's side: a stand-in for each process that polls."""
    sockets = socket_directory()
    captures = _shared_directory() if options.all_users else captures_directory()
    stand_ins: dict[int, StandIn] = {}
    kineto: KinetoSocket | None = None

    def on_new(process: KinetoProcess) -> None:
        try:
            stand_ins[process.pid] = StandIn(process, sockets, captures)
        except OSError as error:  # no descriptor is left, or the directory is gone
            tell(f"process {process.pid} of PyTorch cannot be listed: {error}")

    def on_ended(process: KinetoProcess) -> None:
        if process.pid in stand_ins:
            stand_ins.pop(process.pid).retire()
        if kineto is not None:
            kineto.forget(process.address)

    processes = KinetoProcesses(on_new, on_ended)
    try:
        if options.listens_to_kineto:
            kineto = KinetoSocket(processes, options.kineto_directory, options.all_users)
            tell(f"PyTorch's processes are awaited at {kineto.spelled_address}")
        yield processes
    finally:
        if kineto is not None:
            kineto.close()
            kineto = None  # processes that go on keep their files
        for stand_in in [*stand_ins.values()]:
            await stand_in.close()
        processes.close()
        if options.all_users:
            with suppress(OSError):
                os.rmdir(captures)


def _shared_directory() -> str:
    """Where processes of other users can write, and none can read what others wrote there or remove it."""
    directory = tempfile.mkdtemp(prefix="kinetograph-kineto-", dir=_TEMPORARY)
    os.chmod(directory, 0o1733)
    return directory


def _remove_stale_sockets() -> None:
    """Of a daemon that was killed, and of processes that were."""
    for path in agent_sockets(lambda _text: None):
        with suppress(BlockingIOError):
            peer = connected(path)
            if peer is not None:
                peer.close()
