"""The daemon as a whole: its sockets open, until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from kinetograph.errors import KinetographError
from kinetograph.ondemand.daemon.agent_captures import AgentCaptures
from kinetograph.ondemand.daemon.dynolog import Dynolog
from kinetograph.ondemand.daemon.front_door import MOST_VISITORS, Admission, FrontDoor
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess, KinetoProcesses
from kinetograph.ondemand.daemon.kineto_socket import KinetoSocket
from kinetograph.ondemand.daemon.shared_directory import SharedDirectory
from kinetograph.ondemand.daemon.stand_ins import StandIns
from kinetograph.ondemand.descriptors import allow_many_descriptors
from kinetograph.ondemand.hosts import DEFAULT_PORT, spelled
from kinetograph.ondemand.leftovers import remove_leftovers
from kinetograph.ondemand.peers import agent_sockets, connected
from kinetograph.ondemand.places import captures_directory, socket_directory

__all__ = ["Options", "serve"]

Tell = Callable[[str], None]

# Kineto itself writes traces on demand to no other place, in its newer versions.
_TEMPORARY = "/tmp"
_LOOK_AFTER_SECONDS = 60.0


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
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(3 * MOST_VISITORS))
    allow_many_descriptors()
    options.admission.require_enough_for(options.address)
    _remove_stale_sockets()
    async with _kineto(options, tell) as processes:
        agents = AgentCaptures(tell)
        roots = options.output_directories or (captures_directory(), _TEMPORARY)
        door = FrontDoor(options.admission, Dynolog(processes, agents, roots))
        port = await door.open(options.address, options.port)
        tell(f"listening at {spelled(options.address, port)}")
        try:
            await is_over.wait()
        finally:
            await door.close()
            await agents.close()


@asynccontextmanager
async def _kineto(options: Options, tell: Tell) -> AsyncIterator[KinetoProcesses]:
    """PyTorch's side: a stand-in for each process that polls."""
    socket_directory()  # raises where there can be none
    shared = SharedDirectory() if options.all_users else None
    stand_ins = StandIns(captures_directory if shared is None else shared.path, tell)
    kineto: KinetoSocket | None = None

    def on_ended(process: KinetoProcess) -> None:
        stand_ins.ended(process)
        if kineto is not None:
            kineto.forget(process.address)

    processes = KinetoProcesses(stand_ins.polled, on_ended)
    looking_after: asyncio.Task[None] | None = None
    try:
        if options.listens_to_kineto:
            kineto = KinetoSocket(processes, options.kineto_directory, options.all_users)
            tell(f"PyTorch's processes are awaited at {kineto.spelled_address}")
        looking_after = asyncio.create_task(_look_after(kineto))
        yield processes
    finally:
        if looking_after is not None:
            looking_after.cancel()
        if kineto is not None:
            kineto.close()
            kineto = None  # processes that go on keep their files
        await stand_ins.close()
        processes.close()
        if shared is not None:
            shared.close()


async def _look_after(kineto: KinetoSocket | None) -> None:
    """What nobody else would: a socket whose file is gone, and traces that nobody fetched."""
    while True:
        with suppress(KinetographError, OSError):
            await asyncio.to_thread(remove_leftovers, captures_directory())
        await asyncio.sleep(_LOOK_AFTER_SECONDS)
        if kineto is not None:
            kineto.look_after_file()


def _remove_stale_sockets() -> None:
    """Of a daemon that was killed, and of processes that were."""
    for path in agent_sockets(lambda _text: None):
        with suppress(BlockingIOError):
            peer = connected(path)
            if peer is not None:
                peer.close()
