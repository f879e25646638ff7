"""Operators of torch where the observer cannot be built: their names come by ITT.

In processes of their own, since torch decides while it is imported who is told.
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
INSTALLED = "import kinetograph as kg\nkg.itt.install()\nimport torch\n"


def output_of(program: str, tmp_path: Path) -> str:
    """Of a program that has no compiler."""
    environment = os.environ | {"CXX": "no-such-compiler", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("INTEL_LIBITTNOTIFY64", None)
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


@needs_itt
def test_names_and_nesting_equal_those_of_torchs_profiler(tmp_path: Path) -> None:
    program = f"""{INSTALLED}
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


@needs_itt
def test_a_note_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    program = f"""{INSTALLED}
with kg.profile() as profile:
    torch.ones(1)
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    told = output_of(program, tmp_path)
    assert "names and nesting only" in told
    assert "no C++ compiler was found" in told
    assert "kinetograph build torch" in told


@needs_itt
def test_imported_too_early_torch_tells_nothing_and_the_note_says_so(tmp_path: Path) -> None:
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


@needs_itt
def test_torchs_own_profiler_takes_our_place(tmp_path: Path) -> None:
    program = f"""{INSTALLED}
with kg.profile() as ours:
    torch.ones(1)
    with torch.profiler.profile() as theirs:
        torch.zeros(1)
assert [event.name for event in ours.events()] == ["aten::ones", "aten::empty", "aten::fill_"]
assert "aten::zeros" in [row.key for row in theirs.key_averages()]
assert any("torch's own profiler began" in note.text for note in ours.trace.notes)
with kg.profile() as again:
    torch.ones(1)
assert "aten::ones" in [event.name for event in again.events()]
assert not any("torch's own profiler began" in note.text for note in again.trace.notes)
with torch.profiler.profile() as theirs, kg.profile() as inside:
    torch.ones(1)
assert any("torch's own profiler began" in note.text for note in inside.trace.notes)
"""
    output_of(program, tmp_path)


@needs_itt
def test_a_session_may_be_stopped_by_another_thread(tmp_path: Path) -> None:
    """Torch emits on in the thread that began, which is all that can switch it off there."""
    program = f"""{INSTALLED}
import threading
profile = kg.profile()
profile.start()
torch.ones(1)
thread = threading.Thread(target=profile.stop)
thread.start()
thread.join()
torch.zeros(1)
assert [event.name for event in profile.events()] == ["aten::ones", "aten::empty", "aten::fill_"]
with kg.profile() as again:
    torch.empty(1)
assert [event.name for event in again.events()] == ["aten::empty"]
assert not torch._C._autograd._profiler_enabled()
with torch.profiler.profile():
    pass
"""
    output_of(program, tmp_path)


@needs_itt
def test_sessions_of_a_thread_may_overlap(tmp_path: Path) -> None:
    program = f"""{INSTALLED}
first, second = kg.profile(), kg.profile()
first.start()
second.start()
torch.ones(1)
first.stop()
torch.empty(1)
second.stop()
assert not torch._C._autograd._profiler_enabled()
names = ["aten::ones", "aten::empty", "aten::fill_"]
assert [event.name for event in first.events()] == names
assert [event.name for event in second.events()] == [*names, "aten::empty"]
"""
    output_of(program, tmp_path)


@needs_itt
def test_a_forked_child_starts_without(tmp_path: Path) -> None:
    program = f"""{INSTALLED}
import os
with kg.profile() as outer:
    child = os.fork()
    if child == 0:
        assert not torch._C._autograd._profiler_enabled()
        with kg.profile() as inner:
            torch.empty(1)
        assert [event.name for event in inner.events()] == ["aten::empty"]
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    torch.empty(1)
assert [event.name for event in outer.events()] == ["aten::empty"]
"""
    output_of(program, tmp_path)
