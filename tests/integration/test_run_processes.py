"""Every Python process that a program starts is in the one trace of its run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import PROGRAMS, command, notes, python, recorded, scopes, scopes_by_process, with_variables

import kinetograph as kg

WORKERS = PROGRAMS / "workers.py"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace.json.gz"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("how", ["pool", "futures"])
def test_workers_are_recorded_and_nothing_of_theirs_is_lost(trace: Path, how: str, method: str) -> None:
    assert recorded(trace, WORKERS, how, method) == python(WORKERS, how, method)
    found = kg.load(trace)
    names = [name for scopes in scopes_by_process(found).values() for name in scopes]
    assert names.count("work") == 100
    assert names.count("whole") == 1
    numbers = [event.args["number"] for event in scopes(found) if event.name == "work"]
    assert sorted(numbers) == list(range(100))


def test_work_of_children_lies_inside_the_wait_of_the_parent(trace: Path) -> None:
    recorded(trace, WORKERS, "pool", "fork")
    found = kg.load(trace)
    (whole,) = (event for event in scopes(found) if event.name == "whole")
    for event in scopes(found):
        assert whole.start_ns <= event.start_ns
        assert event.end_ns <= whole.end_ns


def test_a_worker_that_is_terminated_loses_nothing(trace: Path) -> None:
    assert recorded(trace, WORKERS, "terminated pool") == python(WORKERS, "terminated pool")
    names = [(event.name, event.finished) for event in scopes(kg.load(trace))]
    assert names.count(("work", True)) == 100
    assert names.count(("hangs", False)) == 2


@pytest.mark.parametrize(("how", "processes"), [("fork", 2), ("nested forks", 3)])
def test_forked_children_begin_a_session_of_their_own(trace: Path, how: str, processes: int) -> None:
    assert recorded(trace, WORKERS, how) == python(WORKERS, how)
    found = kg.load(trace)
    assert len(found.processes) == processes
    assert sorted(event.name for event in scopes(found)) == ["whole", "work"]
    known = {process["pid"]: process["parent_pid"] for process in found.metadata["processes"]}
    main, *children = known
    assert all(known[child] in known for child in children)
    assert known[main] not in known


@pytest.mark.parametrize("flags", [[], ["-I"], ["-E"], ["-s"]], ids=str)
def test_pythons_that_the_program_calls_are_recorded(trace: Path, flags: list[str]) -> None:
    assert recorded(trace, WORKERS, "subprocess", *flags) == python(WORKERS, "subprocess", *flags)
    assert len(scopes_by_process(kg.load(trace))) == 2


def test_a_python_without_site_packages_runs_undisturbed_and_is_not_recorded(trace: Path) -> None:
    assert recorded(trace, WORKERS, "subprocess", "-S") == python(WORKERS, "subprocess", "-S")
    assert len(kg.load(trace).processes) == 1


def test_a_python_that_does_not_know_us_runs_undisturbed(trace: Path) -> None:
    other = os.path.realpath(sys.executable)
    assert recorded(trace, WORKERS, "other python", other) == python(WORKERS, "other python", other)
    assert len(kg.load(trace).processes) == 1


def test_processes_are_called_after_their_program(trace: Path) -> None:
    # Not a pool: it terminates a worker that has not got its name yet when the others did all the work.
    recorded(trace, WORKERS, "futures", "fork")
    names = [process.name for process in kg.load(trace).processes]
    assert names[0] == "python workers.py"
    assert "python workers.py (ForkProcess-1)" in names
    assert {process.labels for process in kg.load(trace).processes} == {"CPU"}


def test_a_process_that_cannot_record_runs_undisturbed_and_is_named_in_the_notes(
    trace: Path, tmp_path: Path
) -> None:
    program = tmp_path / "breaks.py"
    program.write_text(
        "import os\n"
        "path = os.environ['KINETOGRAPH_RUN'] + '/run.json'\n"
        "text = open(path).read()\n"
        "open(path, 'w').write('{')\n"
        "status = os.system('exec ' + __import__('sys').executable + ' -c \"print(1)\"')\n"
        "open(path, 'w').write(text)\n"
        "print(status)\n"
    )
    done = recorded(trace, program)
    assert (done.stdout, done.stderr, done.returncode) == (b"1\n0\n", b"", 0)
    (note,) = notes(kg.load(trace), "unrecorded")
    assert "was not recorded" in note


@pytest.mark.parametrize("ring", [(), ("--ring", 1e-6)])
def test_what_a_stop_would_tell_is_in_the_notes_of_a_run(trace: Path, ring: tuple[object, ...]) -> None:
    program = (
        "import kinetograph as kg; kg.add_global_callback(lambda begun: 1 / 0); kg.scope('x').__enter__()"
    )
    assert recorded(trace, "-c", program, options=("--sample", 1000, *ring)).stderr == b""
    (cost,) = (text for text in notes(kg.load(trace), "cost") if "sampling" in text)
    assert "sampling used" in cost
    (error,) = notes(kg.load(trace), "callback")
    assert "ZeroDivisionError" in error


def test_a_variable_that_outlived_its_run_does_nothing(tmp_path: Path) -> None:
    environment = with_variables(KINETOGRAPH_RUN=str(tmp_path / "gone"))
    program = "import sys; print('kinetograph.session.recording' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.stderr, done.returncode) == ("", 0)
    assert not (tmp_path / "gone").exists()


def test_without_the_variable_nothing_of_ours_is_loaded() -> None:
    program = "import sys; print([name for name in sys.modules if 'kinetograph' in name])"
    assert python("-c", program).stdout == b"[]\n"


def test_each_rank_of_a_job_writes_a_file_of_its_own(tmp_path: Path) -> None:
    for rank in range(2):
        environment = with_variables(RANK=str(rank), WORLD_SIZE="2")
        done = subprocess.run(
            command(WORKERS, "fork", options=("-q", "-o", "job.json.gz")), cwd=tmp_path, env=environment
        )
        assert done.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["job.rank0.json.gz", "job.rank1.json.gz"]
    assert kg.load(tmp_path / "job.rank1.json.gz").metadata["distributedInfo"]["rank"] == 1


def test_a_ring_keeps_only_the_newest(trace: Path, tmp_path: Path) -> None:
    program = tmp_path / "slow.py"
    program.write_text(
        "import time\nimport kinetograph as kg\n"
        "with kg.scope('old'): pass\n"
        "time.sleep(1)\n"
        "with kg.scope('new'): pass\n"
    )
    recorded(trace, program, options=("--ring", "0.5"))
    assert [event.name for event in scopes(kg.load(trace))] == ["new"]
