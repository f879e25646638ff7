"""What tests here share: agents and daemons with directories of their own, and a fake CUDA.

That one is built once, and the programs that play it have a process each, for libraries stay.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs import with_variables

import fake_cuda
from agents import Agents, own_agents
from daemons import Daemon, own_daemon


@pytest.fixture
def agents() -> Iterator[Agents]:
    with own_agents() as mine:
        yield mine


@pytest.fixture
def daemon(agents: Agents) -> Iterator[Daemon]:
    with own_daemon(agents) as mine:
        yield mine


@pytest.fixture(scope="session")
def cuda_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_cuda.build(tmp_path_factory.mktemp("fake_cuda"))


@pytest.fixture
def cuda_environment(cuda_libraries: Path) -> dict[str, str]:
    cupti = cuda_libraries / "libcupti.so.13"
    return with_variables(FAKE_CUDA=str(cuda_libraries), KINETOGRAPH_CUPTI=str(cupti))


@pytest.fixture
def play(request: pytest.FixtureRequest, cuda_environment: dict[str, str]) -> fake_cuda.Play:
    """Runs a function of the test's `PROGRAM`, and gives what it has printed."""

    def play(name: str, *arguments: object, **variables: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, request.module.PROGRAM, name, *map(str, arguments)],
            env=cuda_environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    return play
