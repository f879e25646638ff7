"""The sockets of the daemon: there when they have a name, and again when somebody has removed that."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess, KinetoProcesses
from kinetograph.ondemand.daemon.kineto_socket import KinetoSocket
from kinetograph.ondemand.daemon.kineto_wire import Poll
from kinetograph.ondemand.daemon.stand_in import StandIn
from kinetograph.ondemand.peers import connected


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Short: the path of a socket has 107 letters at most."""
    found = Path(tempfile.mkdtemp(prefix="kg-"))
    monkeypatch.setenv("KINETOGRAPH_RUNTIME_DIR", str(found))
    yield found
    shutil.rmtree(found)


def test_a_stand_in_listens_as_soon_as_it_has_a_name(directory: Path) -> None:
    """Whoever lists processes meanwhile would take one that refuses for left over, and remove it."""

    async def stand_in() -> None:
        standing = StandIn(KinetoProcess(os.getpid(), os.getuid(), Poll(3, 0, (os.getpid(),))), str)
        (path,) = directory.iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        peer = connected(str(path))
        assert peer is not None
        peer.close()
        await standing.close()
        assert not list(directory.iterdir())

    asyncio.run(stand_in())


def test_the_file_that_polls_go_to_is_made_again(directory: Path) -> None:
    async def look_after() -> None:
        kineto = KinetoSocket(KinetoProcesses(_ignore, _ignore), str(directory), all_users=False)
        path = directory / "dynolog"
        path.unlink()
        kineto.look_after_file()
        assert path.is_socket()
        found = path.stat()
        kineto.look_after_file()
        assert os.path.samestat(path.stat(), found)
        kineto.close()
        assert not path.exists()

    asyncio.run(look_after())


def _ignore(_process: KinetoProcess) -> None:
    pass
