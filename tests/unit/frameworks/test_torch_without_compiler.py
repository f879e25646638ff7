"""Operators of torch where the observer cannot be built: torch itself tells their names, by ITT or NVTX.

In processes of their own, since torch decides but once who is told.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

ROOT = Path(__file__).parents[3]
needs_itt = pytest.mark.skipif(
    not torch.profiler.itt.is_available(), reason="this torch was built without ITT"
)
needs_cuda_build = pytest.mark.skipif(
    torch.version.cuda is None, reason="this torch was built without CUDA, and so without NVTX"
)


@pytest.fixture(params=[pytest.param("itt", marks=needs_itt), pytest.param("nvtx", marks=needs_cuda_build)])
def installed(request: pytest.FixtureRequest) -> str:
    """The beginning of a program in which torch tells by that way."""
    return f"""
import kinetograph as kg
kg.{request.param}.install()
import torch

def operators(profile):
    return [event.name for event in profile.events() if event.category == "cpu_op"]

"""


def output_of(program: str, tmp_path: Path) -> str:
    """Of a program that has no compiler."""
    environment = os.environ | {"CXX": "no-such-compiler", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for name in ("INTEL_LIBITTNOTIFY64", "NVTX_INJECTION64_PATH"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_names_and_nesting_equal_those_of_torchs_profiler(installed: str, tmp_path: Path) -> None:
    program = f"""{installed}
from pathlib import Path
from tests.torch_programs import convolution_step, operators_of
torch.set_num_threads(1)
step = convolution_step()
paths = [Path({str(tmp_path)!r}) / name for name in ("ours.json", "theirs.json")]
with kg.profile(record_shapes=True) as ours:
    step()
ours.export_chrome_trace(str(paths[0]))
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
    step()
theirs.export_chrome_trace(str(paths[1]))
ours, theirs = ([(op.depth, op.name) for op in operators_of(path)[0]] for path in paths)
assert ours == theirs, (ours, theirs)
assert (0, "step") in ours and len(ours) > 50
assert not torch.autograd.profiler._is_profiler_enabled
assert not torch._C._autograd._profiler_enabled()
"""
    output_of(program, tmp_path)


def test_a_note_says_what_is_missing_and_how_to_get_it(installed: str, tmp_path: Path) -> None:
    program = f"""{installed}
with kg.profile() as profile:
    torch.ones(1)
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    told = output_of(program, tmp_path)
    assert ("came by ITT" in told) == ("kg.itt" in installed)
    assert "names and nesting only" in told
    assert "no C++ compiler was found" in told
    assert "kinetograph build torch" in told


@needs_itt
def test_imported_before_itt_torch_tells_nothing_and_the_note_says_so(tmp_path: Path) -> None:
    program = """
import torch
import kinetograph as kg
kg.itt.install()
with kg.profile() as profile:
    torch.ones(1)
assert not list(profile.events())
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    told = output_of(program, tmp_path)
    assert "no C++ compiler was found" in told
    assert "call kg.itt.install() before torch is imported" in told


@needs_cuda_build
def test_nvtx_that_is_asked_for_too_late_is_told_about(tmp_path: Path) -> None:
    program = """
import torch
profiler = torch.autograd.profiler
config = profiler.ProfilerConfig(
    profiler.ProfilerState.NVTX, False, False, False, False, False, torch._C._profiler._ExperimentalConfig()
)
profiler._enable_profiler(config, set())
torch.ones(1)
profiler._disable_profiler()
import kinetograph as kg
kg.nvtx.install()
with kg.profile() as profile:
    torch.ones(1)
assert not [event for event in profile.events() if event.category == "cpu_op"]
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    assert "has not come to us with its first operator" in output_of(program, tmp_path)


@needs_cuda_build
def test_ranges_of_the_program_stay_annotations_among_operators(tmp_path: Path) -> None:
    program = """
import torch
import kinetograph as kg
kg.nvtx.install()
with kg.profile() as profile, torch.cuda.nvtx.range("load, op_id = 3"):
    torch.ones(1)
found = [(event.category, event.name) for event in profile.events()]
assert ("user_annotation", "load, op_id = 3") in found, found
assert ("cpu_op", "aten::ones") in found, found
"""
    output_of(program, tmp_path)


def test_without_any_way_the_note_says_of_each_what_is_missing(tmp_path: Path) -> None:
    program = """
import torch
import kinetograph as kg
with kg.profile() as profile:
    torch.ones(1)
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    told = output_of(program, tmp_path)
    for missing in ("no C++ compiler was found", "by ITT: torch", "by NVTX: "):
        assert missing in told


def test_torchs_own_profiler_takes_our_place(installed: str, tmp_path: Path) -> None:
    program = f"""{installed}
with kg.profile() as ours:
    torch.ones(1)
    with torch.profiler.profile() as theirs:
        torch.zeros(1)
assert operators(ours) == ["aten::ones", "aten::empty", "aten::fill_"]
assert "aten::zeros" in [row.key for row in theirs.key_averages()]
assert any("torch's own profiler began" in note.text for note in ours.trace.notes)
with kg.profile() as again:
    torch.ones(1)
assert "aten::ones" in operators(again)
assert not any("torch's own profiler began" in note.text for note in again.trace.notes)
with torch.profiler.profile() as theirs, kg.profile() as inside:
    torch.ones(1)
assert any("torch's own profiler began" in note.text for note in inside.trace.notes)
"""
    output_of(program, tmp_path)


def test_a_session_may_be_stopped_by_another_thread(installed: str, tmp_path: Path) -> None:
    """Torch emits on in the thread that began, which is all that can switch it off there."""
    program = f"""{installed}
import threading
profile = kg.profile()
profile.start()
torch.ones(1)
thread = threading.Thread(target=profile.stop)
thread.start()
thread.join()
torch.zeros(1)
assert operators(profile) == ["aten::ones", "aten::empty", "aten::fill_"]
with kg.profile() as again:
    torch.empty(1)
assert operators(again) == ["aten::empty"]
assert not torch._C._autograd._profiler_enabled()
with torch.profiler.profile():
    pass
"""
    output_of(program, tmp_path)


def test_sessions_of_a_thread_may_overlap(installed: str, tmp_path: Path) -> None:
    program = f"""{installed}
first, second = kg.profile(), kg.profile()
first.start()
second.start()
torch.ones(1)
first.stop()
torch.empty(1)
second.stop()
assert not torch._C._autograd._profiler_enabled()
names = ["aten::ones", "aten::empty", "aten::fill_"]
assert operators(first) == names
assert operators(second) == [*names, "aten::empty"]
"""
    output_of(program, tmp_path)


def test_a_forked_child_starts_without(installed: str, tmp_path: Path) -> None:
    program = f"""{installed}
import os
with kg.profile() as outer:
    child = os.fork()
    if child == 0:
        assert not torch._C._autograd._profiler_enabled()
        with kg.profile() as inner:
            torch.empty(1)
        assert operators(inner) == ["aten::empty"]
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    torch.empty(1)
assert operators(outer) == ["aten::empty"]
"""
    output_of(program, tmp_path)


def test_one_session_in_another_does_not_take_the_first_for_torchs_profiler(
    installed: str, tmp_path: Path
) -> None:
    program = f"""{installed}
from kinetograph.session import cuda
with kg.profile():
    assert torch.autograd.profiler._is_profiler_enabled
    assert not cuda._torch_is_profiling()
    with torch.profiler.profile():
        assert cuda._torch_is_profiling()
assert not torch.autograd.profiler._is_profiler_enabled
"""
    output_of(program, tmp_path)


def test_a_forked_child_of_another_thread_starts_without(installed: str, tmp_path: Path) -> None:
    program = f"""{installed}
import os, threading
def fork():
    child = os.fork()
    if child == 0:
        os._exit(bool(torch.autograd.profiler._is_profiler_enabled))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    done.append(child)
done = []
with kg.profile():
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    assert torch.autograd.profiler._is_profiler_enabled
assert done
"""
    output_of(program, tmp_path)
