"""Annotations under `kinetograph run`: of the program and of the processes it starts, Python or not."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from tests.integration.runs import PROGRAMS, notes, python, recorded, with_variables
from tests.libraries import needs

import fake_tools
import kinetograph as kg
from fake_tools import nesting

needs_both = needs("nvtx", "ittapi")

PROGRAM = PROGRAMS / "annotates.py"


def built_from(source: Path, built: Path) -> Path:
    headers = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "include"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not (headers / "nvtx3").exists():
        pytest.skip("no C compiler, or no headers of NVTX")
    subprocess.run([compiler, "-O1", f"-I{headers}", source, "-o", built, "-ldl"], check=True)
    return built


@pytest.fixture(scope="module")
def program_in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_from(PROGRAMS / "annotating_child.c", tmp_path_factory.mktemp("c") / "annotating")


def categories(trace: kg.Trace) -> dict[str, str]:
    return {event.name: event.category for event in trace.events if event.category != "python_function"}


@needs_both
def test_a_program_that_knows_nothing_of_us_is_heard(tmp_path: Path) -> None:
    done = recorded(tmp_path / "trace.json", PROGRAM)
    assert done.returncode == 0, done.stderr
    trace = kg.load(tmp_path / "trace.json")
    assert categories(trace) == {"by nvtx": "of nvtx", "by ittapi": "of ittapi"}
    assert notes(trace, "annotations") == []


@needs_both
def test_a_process_that_is_no_python_is_heard_too(program_in_c: Path, tmp_path: Path) -> None:
    done = recorded(tmp_path / "trace.json", PROGRAM, program_in_c)
    assert (done.returncode, done.stdout) == (0, b"7\n"), done.stderr
    trace = kg.load(tmp_path / "trace.json")
    of_c = [event for event in trace.events if event.name in ("in C", "within")]
    assert [event.category for event in of_c] == ["a library in C", "user_annotation"] * 10
    (process,) = {event.track.process.name for event in of_c}
    assert process == "annotating"
    # It was not killed, nor did it end otherwise than it wanted to.
    assert notes(trace, "ended") == []


def test_children_that_such_a_process_forks_are_heard_too(tmp_path: Path) -> None:
    program = built_from(PROGRAMS / "annotating_and_forking.c", tmp_path / "forking")
    start = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"
    done = recorded(tmp_path / "trace.json", "-c", start, program)
    assert done.returncode == 0, done.stderr
    trace = kg.load(tmp_path / "trace.json")
    said = {
        event.name: event.track.process.pid for event in trace.events if event.track.process.name == "forking"
    }
    assert said.keys() == {"before", "behind", "in a child", "in a child's child"}
    assert said["before"] == said["behind"]
    assert len(set(said.values())) == 3
    assert notes(trace, "ended") == []


def test_texts_that_are_no_utf8_do_no_harm(tmp_path: Path) -> None:
    program = built_from(PROGRAMS / "annotating_in_latin.c", tmp_path / "latin")
    start = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"
    done = recorded(tmp_path / "trace.json", "-c", start, program)
    assert done.returncode == 0, done.stderr
    assert b"UnicodeDecodeError" not in done.stderr
    trace = kg.load(tmp_path / "trace.json")
    assert [event.category for event in trace.events if event.name == "caf\ufffd"] == ["entr\ufffde"]


@needs_both
def test_another_tool_keeps_its_place_and_a_note_says_so(tmp_path: Path) -> None:
    tool, log = fake_tools.build(tmp_path) / "nvtx.so", tmp_path / "log"
    variables = with_variables(NVTX_INJECTION64_PATH=str(tool), FAKE_TOOL_LOG=str(log))
    done = recorded(tmp_path / "trace.json", PROGRAM, env=variables)
    assert done.returncode == 0, done.stderr
    assert nesting(fake_tools.read_log(log)) == ["by nvtx"]
    trace = kg.load(tmp_path / "trace.json")
    assert categories(trace) == {"by ittapi": "of ittapi"}
    (note,) = notes(trace, "annotations")
    assert f"went to {tool}, which NVTX_INJECTION64_PATH names" in note


@needs_both
def test_a_tool_that_is_not_there_gets_nothing_and_a_note_says_so(tmp_path: Path) -> None:
    variables = with_variables(NVTX_INJECTION64_PATH="/another/tool.so")
    assert recorded(tmp_path / "trace.json", PROGRAM, env=variables).returncode == 0
    (note,) = notes(kg.load(tmp_path / "trace.json"), "annotations")
    assert "went nowhere: NVTX_INJECTION64_PATH names /another/tool.so, which does not exist" in note


TAKES_OUT = """
import os, runpy, subprocess, sys
for name in list(os.environ):
    if name in {names}:
        del os.environ[name]
{then}
"""
ITSELF = "runpy.run_path(sys.argv.pop())"
A_CHILD = "subprocess.run([sys.executable, sys.argv[1]], check=True)"


@needs_both
@pytest.mark.parametrize(
    ("names", "then"),
    [
        (["NVTX_INJECTION64_PATH"], ITSELF),
        (["NVTX_INJECTION64_PATH"], A_CHILD),
        (["NVTX_INJECTION64_PATH", "KINETOGRAPH_RUN"], ITSELF),
    ],
    ids=["itself", "a child", "all of us"],
)
def test_a_program_that_takes_us_out_of_the_environment_is_told_so(
    names: list[str], then: str, tmp_path: Path
) -> None:
    done = recorded(tmp_path / "trace.json", "-c", TAKES_OUT.format(names=names, then=then), PROGRAM)
    assert done.returncode == 0, done.stderr
    trace = kg.load(tmp_path / "trace.json")
    assert categories(trace) == {"by ittapi": "of ittapi"}
    (note,) = notes(trace, "annotations")
    assert note.endswith(
        "NVTX annotations of nvtx are not recorded: "
        "NVTX_INJECTION64_PATH was taken out of the environment before the first of them"
    )


@needs_both
def test_without_us_the_program_does_the_same(program_in_c: Path) -> None:
    assert python(PROGRAM, program_in_c).stdout == b"7\n"


@pytest.mark.parametrize("options", [(), ("--no-calls",)])
def test_a_thread_that_annotates_first_has_its_name(options: tuple[str, ...], tmp_path: Path) -> None:
    done = recorded(tmp_path / "trace.json", PROGRAMS / "native_first.py", options=options)
    assert done.returncode == 0, done.stderr
    tracks = {event.name: event.track.name for event in kg.load(tmp_path / "trace.json").events}
    assert tracks["by ITT"] == tracks["scope"]
    assert tracks["scope"].endswith("(named)")
