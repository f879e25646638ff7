"""`kinetograph merge` makes one trace of several: of files, and of those in folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kinetograph as kg
from kinetograph import cli
from recorded import recording


def save(path: Path, name: str, rank: int | None = None, host: str = "one") -> None:
    with recording() as window, kg.scope(name):
        pass
    window.trace.metadata["host_name"] = host
    if rank is not None:
        window.trace.metadata["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    window.trace.save(path)


def merge(*sources: Path, output: Path) -> Result:
    return CliRunner().invoke(cli.main, ["merge", *map(str, sources), "-o", str(output)])


def test_ranks_of_a_job_become_one_trace_and_are_told_apart(tmp_path: Path) -> None:
    save(tmp_path / "b.json", "of zero", 0, "one")
    save(tmp_path / "a.json.gz", "of one", 1, "two")
    output = tmp_path / "job.json"
    result = merge(tmp_path, output=output)
    assert (result.exit_code, result.stdout) == (0, f"{output}\n")
    trace = kg.load(output)
    assert [event.name for event in trace.events] == ["of zero", "of one"]
    # Both were recorded by this process: equal pids of two hosts.
    assert len({process.pid for process in trace.processes}) == 2
    assert trace.processes[0].labels == "CPU (rank 0 on one)"
    assert "of rank 1 on two" in trace.processes[1].labels
    assert trace.metadata["distributedInfo"]["rank"] == 0
    assert [source["distributedInfo"]["rank"] for source in trace.metadata["merged"]] == [0, 1]


@pytest.mark.parametrize(
    ("one", "other"),
    [((0, "one"), (1, "one")), ((None, ""), (None, "")), ((0, "one"), (0, "two"))],
    ids=["two ranks", "nobody knows the host", "two hosts"],
)
def test_equal_pids_that_may_be_two_processes_are_two(
    tmp_path: Path, one: tuple[int | None, str], other: tuple[int | None, str]
) -> None:
    """Containers count pids from 1; recorded one after the other, they could be one process."""
    save(tmp_path / "node1-7.json", "first", *one)
    save(tmp_path / "node2-7.json", "second", *other)
    assert merge(tmp_path, output=tmp_path / "job.json").exit_code == 0
    trace = kg.load(tmp_path / "job.json")
    assert len({event.track.process.pid for event in trace.events}) == 2


@pytest.mark.parametrize("host", ["one", ""])
def test_windows_of_one_process_are_one_process(tmp_path: Path, host: str) -> None:
    """As `tensorboard_trace_handler` names them, of PyTorch as well."""
    for time_ns in (1_794_882_452_019_581_118, 1_794_882_453_019_581_118):
        save(tmp_path / f"node1_7.{time_ns}.pt.trace.json", "work", host=host)
    assert merge(tmp_path, output=tmp_path / "job.json").exit_code == 0
    assert len(kg.load(tmp_path / "job.json").processes) == 1


def test_merging_again_does_not_take_the_result_for_a_source(tmp_path: Path) -> None:
    save(tmp_path / "a.json", "first")
    save(tmp_path / "b.json", "second")
    for _ in range(2):
        assert merge(tmp_path, output=tmp_path / "job.json").exit_code == 0
    assert len(kg.load(tmp_path / "job.json")) == 2


def test_what_is_no_trace_is_left_out_and_named(tmp_path: Path) -> None:
    save(tmp_path / "a.json", "first")
    save(tmp_path / "b.json", "second")
    (tmp_path / "c.json").write_text("{")
    (tmp_path / "d.kgsession").write_text("nothing")
    result = merge(tmp_path, output=tmp_path / "job.json.gz")
    assert result.exit_code == 0
    assert "c.json" in result.stderr
    assert "d.kgsession" in result.stderr
    assert len([note for note in kg.load(tmp_path / "job.json.gz").notes if note.kind == "unreadable"]) == 2


@pytest.mark.parametrize("content", [None, "{"], ids=["empty", "no trace"])
def test_a_folder_without_traces_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "a.json").write_text(content)
    result = merge(tmp_path, output=tmp_path / "job.json")
    assert result.exit_code == 1
    assert result.stderr.startswith("kinetograph: there is nothing to merge")


def test_a_wrong_suffix_is_told(tmp_path: Path) -> None:
    assert merge(tmp_path, output=tmp_path / "job.xml").exit_code == 1


def test_files_become_one_trace_whatever_their_format(tmp_path: Path) -> None:
    save(tmp_path / "a.json", "first")
    save(tmp_path / "b.pftrace", "second")
    save(tmp_path / "not named.json", "third")
    result = merge(tmp_path / "a.json", tmp_path / "b.pftrace", output=tmp_path / "both.json.gz")
    assert (result.exit_code, result.stderr) == (0, "")
    trace = kg.load(tmp_path / "both.json.gz")
    assert [event.name for event in trace.events] == ["first", "second"]
    assert [source["file"] for source in trace.metadata["merged"]] == ["a.json", "b.pftrace"]


def test_files_of_one_name_are_told_apart_by_their_folder_and_one_given_twice_counts_once(
    tmp_path: Path,
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save(tmp_path / folder / "trace.json", folder)
    files = tmp_path / "a" / "trace.json", tmp_path / "b" / "trace.json"
    assert merge(*files, tmp_path / "b", output=tmp_path / "both.json").exit_code == 0
    trace = kg.load(tmp_path / "both.json")
    assert [event.name for event in trace.events] == ["a", "b"]
    assert [source["file"] for source in trace.metadata["merged"]] == list(map(str, files))


@pytest.mark.parametrize("name", ["b.json", "b.kgsession"])
def test_a_file_that_was_named_and_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    save(tmp_path / "a.json", "first")
    (tmp_path / name).write_text("{")
    result = merge(tmp_path / "a.json", tmp_path / name, output=tmp_path / "both.json")
    assert result.exit_code == 1
    assert name in result.stderr
    assert not (tmp_path / "both.json").exists()
