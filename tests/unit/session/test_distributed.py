"""Rank and world size, from whoever knows."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.session.distributed import distributed_info

VARIABLES = [
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in VARIABLES:
        for name in names:
            monkeypatch.delenv(name, raising=False)


def with_groups(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> None:
    known = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "get_backend": lambda: "gloo",
        "get_rank": lambda: 3,
        "get_world_size": lambda: 4,
    }
    torch = SimpleNamespace(distributed=SimpleNamespace(**known | functions))
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]


def test_a_process_alone_has_no_rank() -> None:
    assert distributed_info() is None
    with kg.profile() as prof:
        pass
    assert "distributedInfo" not in prof.trace.metadata


@pytest.mark.parametrize(("rank", "size"), VARIABLES)
def test_launchers_are_believed(monkeypatch: pytest.MonkeyPatch, rank: str, size: str) -> None:
    monkeypatch.setenv(rank, "5")
    monkeypatch.setenv(size, "8")
    assert distributed_info() == {"rank": 5, "world_size": 8}


def test_torchrun_is_believed_before_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}.items():
        monkeypatch.setenv(name, value)
    assert distributed_info() == {"rank": 1, "world_size": 4}


@pytest.mark.parametrize(("rank", "size"), [("1", ""), ("x", "2"), ("2", "2"), ("-1", "2"), ("\u0663", "9")])
def test_variables_that_make_no_sense_are_not_believed(
    monkeypatch: pytest.MonkeyPatch, rank: str, size: str
) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", size)
    assert distributed_info() is None


def test_process_groups_know_better_than_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with_groups(monkeypatch)
    assert distributed_info() == {"backend": "gloo", "rank": 3, "world_size": 4}


def test_internals_of_torch_that_changed_do_not_cost_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    with_groups(monkeypatch, get_pg_count=lambda: 1 / 0)
    assert distributed_info() == {"backend": "gloo", "rank": 3, "world_size": 4}


@pytest.mark.parametrize("answer", [lambda: False, lambda: 1 / 0])
def test_groups_that_are_not_there_leave_it_to_the_launcher(
    monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    with_groups(monkeypatch, is_initialized=answer)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert distributed_info() == {"rank": 0, "world_size": 2}


def test_every_session_writes_the_rank_as_tools_look_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("RANK", "7")
    monkeypatch.setenv("WORLD_SIZE", "9")
    kg.enable_profiler()
    kg.disable_profiler().save(tmp_path / "trace.json")
    assert '"rank": 7' in (tmp_path / "trace.json").read_text()


def test_a_rank_given_while_recording_is_known_at_the_end_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    with kg.profile() as late:
        monkeypatch.setenv("RANK", "1")
        monkeypatch.setenv("WORLD_SIZE", "2")
    with kg.profile() as early:
        monkeypatch.delenv("RANK")
    for prof in (late, early):
        assert prof.trace.metadata["distributedInfo"] == {"rank": 1, "world_size": 2}
