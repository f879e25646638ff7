"""Which hosts a command means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinetograph.errors import KinetographError, NotAvailable, UsageError
from kinetograph.ondemand.hosts import Host, hosts_in_file, hosts_named, slurm_job


def test_hosts_are_named_once_each_with_a_port_or_without() -> None:
    names = ["node1", " node2.example.org:99 ", "", "node1", "10.0.0.7", "[fe80::1]:99", "::1"]
    assert hosts_named(names, port=5) == [
        Host("node1", 5),
        Host("node2.example.org", 99),
        Host("10.0.0.7", 5),
        Host("fe80::1", 99),
        Host("::1", 5),
    ]


def test_a_host_is_spelled_as_it_can_be_named_again() -> None:
    for name in ("node1", "node1:99", "::1", "[::1]:99"):
        assert [str(host) for host in hosts_named([name])] == [name]


@pytest.mark.parametrize("name", ["a b", "-x", "a:0", "a:99999", "a:b", "a/b", "a..b", "a" * 64])
def test_what_is_no_host_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected a host"):
        hosts_named([name])


def test_a_file_has_a_host_a_line_and_remarks(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("\ufeff# all\r\nnode1\n\nnode2:99 # slow\n")  # as some editors leave it
    assert hosts_in_file(str(file)) == [Host("node1"), Host("node2", 99)]
    file.write_text("# nobody\n")
    with pytest.raises(UsageError, match="no host is named"):
        hosts_in_file(str(file))
    with pytest.raises(UsageError, match="cannot read the hosts"):
        hosts_in_file(str(tmp_path / "none"))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands that answer as Slurm's do, for one job."""
    commands = {
        "squeue": '[ "$3" = --jobs=815 ] || { echo "Invalid job id" >&2; exit 1; }\n'
        'printf "815 node[1-2]\\n816 node[1-2]\\n"',
        "scontrol": '[ "$*" = "show hostnames node[1-2]" ] && printf "node1\\nnode2\\n"',
    }
    for name, script in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_a_job_of_slurm_runs_on_hosts(slurm: Path) -> None:
    assert slurm_job("815").hosts == [Host("node1"), Host("node2")]


def test_the_tasks_of_an_array_have_ids_of_their_own(slurm: Path) -> None:
    assert slurm_job("815").ids == ("815", "816")


def test_what_slurm_does_not_know_is_told(slurm: Path) -> None:
    with pytest.raises(KinetographError, match="Invalid job id"):
        slurm_job("816")
    with pytest.raises(UsageError, match="expected the id of a job"):
        slurm_job("--help")


def test_without_slurm_there_are_other_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match="there is no squeue"):
        slurm_job("815")
