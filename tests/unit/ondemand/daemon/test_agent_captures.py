"""What the daemon knows of processes with an agent, and where traces go that dynolog's clients want."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from kinetograph.ondemand.daemon.agent_captures import _put, ancestors, job_number


@pytest.mark.parametrize(
    ("job", "number"),
    [("815", 815), ("123.server", 123), (None, 0), ("", 0), ("mine", 0), ("9" * 30, 10**18 - 1)],
)
def test_jobs_are_numbers_as_kineto_reads_them(job: str | None, number: int) -> None:
    assert job_number(job) == number


def test_ancestors_begin_with_the_parent_and_leave_out_the_first_of_all() -> None:
    found = [*ancestors(os.getpid())]
    assert found[:1] == [os.getppid()] or os.getppid() == 1
    assert 1 not in found
    assert [*ancestors(1 << 30)] == []


@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
def test_a_trace_comes_unpacked_and_whole(tmp_path: Path, name: str) -> None:
    trace = tmp_path / name
    trace.write_bytes(gzip.compress(b"{}") if name.endswith("gz") else b"{}")
    _put(str(trace), str(tmp_path / "there.json"), 0o600)
    assert (tmp_path / "there.json").read_text() == "{}"
    assert not (tmp_path / "there.json.tmp").exists()


@pytest.mark.parametrize("taken", ["there.json", "there.json.tmp"])
def test_nothing_that_is_there_is_overwritten_nor_a_link_followed(tmp_path: Path, taken: str) -> None:
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "precious").write_text("mine")
    (tmp_path / taken).symlink_to(tmp_path / "precious")
    with pytest.raises(FileExistsError):
        _put(str(tmp_path / "x.json"), str(tmp_path / "there.json"), 0o600)
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / taken).is_symlink()


@pytest.mark.parametrize(
    ("mode", "umask", "there"),
    [(0o644, 0o022, 0o644), (0o600, 0o000, 0o600), (0o644, 0o077, 0o600), (0o664, 0o007, 0o660)],
    ids=["both alike", "a closed process", "a closed daemon", "each something"],
)
def test_a_trace_is_as_closed_as_process_and_daemon_want_it(
    tmp_path: Path, mode: int, umask: int, there: int
) -> None:
    (tmp_path / "x.json").write_text("{}")
    before = os.umask(umask)
    try:
        _put(str(tmp_path / "x.json"), str(tmp_path / "there.json"), mode)
    finally:
        os.umask(before)
    assert (tmp_path / "there.json").stat().st_mode & 0o777 == there
