"""Where the trace of a run goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinetograph.errors import KinetographError
from kinetograph.run.output import output_path
from kinetograph.session.ranks import rank_from_environment


@pytest.fixture(autouse=True)
def _in_a_folder_and_no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.endswith(("RANK", "PROCID", "SIZE", "NTASKS")):
            monkeypatch.delenv(name)


def name_of(template: str) -> str:
    return os.path.basename(output_path(template))


def test_places_in_the_name_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert name_of("{host}-{rank}-{pid}.json") == f"{os.uname().nodename}-3-{os.getpid()}.json"


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("job.json.gz", "job.rank3.json.gz"),
        ("job.json", "job.rank3.json"),
        ("job.pt.trace.json.gz", "job.rank3.pt.trace.json.gz"),
        ("job-{rank}.json", "job-3.json"),
        ("job-{pid}.json", "job-PID.json"),
    ],
)
def test_in_a_job_no_rank_overwrites_the_trace_of_another(
    monkeypatch: pytest.MonkeyPatch, template: str, name: str
) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert name_of(template) == name.replace("PID", str(os.getpid()))


def test_outside_a_job_the_name_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert name_of("job.json") == "job.json"
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "1")
    assert rank_from_environment() is None
    assert name_of("job.json") == "job.json"


def test_a_folder_may_have_a_dot_in_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "0")
    (tmp_path / "v1.2").mkdir()
    assert output_path("v1.2/job.json") == str(tmp_path / "v1.2" / "job.rank0.json")


@pytest.mark.parametrize("template", ["{job}.json", "trace.xml", "nowhere/trace.json", "{}.json"])
def test_a_name_that_cannot_be_written_to_is_an_error(template: str) -> None:
    with pytest.raises(KinetographError):
        output_path(template)
