"""Operators where a process begins, forks and ends: programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import kinetograph as kg

pytest.importorskip("torch", reason="PyTorch is not installed here")


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )


def test_flops_without_torch_are_a_note() -> None:
    program = """
import kinetograph as kg
from kinetograph.session import cuda
with kg.profile(with_flops=True) as profile:
    pass
print([note.text for note in profile.trace.notes if note.kind == "partial"])
"""
    assert "the program had not imported torch" in run(program).stdout


def test_torch_is_imported_where_it_is_asked_for_by_name() -> None:
    program = """
import sys
import kinetograph as kg
from kinetograph.session import cuda
assert "torch" not in sys.modules
with kg.profile(frameworks=["torch"]) as profile:
    import torch
    torch.ones(2)
print([event.name for event in profile.events()])
"""
    done = run(program)
    assert done.stdout.strip() == "['aten::ones', 'aten::empty', 'aten::fill_']", done.stderr


def test_torch_that_is_imported_while_a_session_runs_is_a_note() -> None:
    program = """
import kinetograph as kg
from kinetograph.session import cuda
with kg.profile(with_flops=True) as profile, kg.profile(frameworks=()) as other:
    import torch
    torch.ones(2)
assert not profile.events()
for each in (profile, other):
    print([note.text for note in each.trace.notes if note.kind in ("torch", "partial")])
"""
    told, others = run(program).stdout.splitlines()
    assert "the program imported torch while this session ran" in told
    assert "had not imported" not in told
    assert "while this session ran" not in others


def test_operators_that_came_with_another_session_are_not_said_to_be_missing() -> None:
    program = """
import kinetograph as kg
from kinetograph.session import cuda
with kg.profile() as profile:
    import torch
    torch.zeros(2)
    with kg.profile():
        torch.ones(2)
print([event.name for event in profile.events() if event.parent is None])
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    seen, told = run(program).stdout.splitlines()
    assert seen == "['aten::ones']"
    assert "are recorded while another session watches them, and no others" in told
    assert "imported torch while this session ran" in told


def test_a_forked_child_is_not_watched_and_can_record_itself() -> None:
    program = """
import os, threading, torch
import kinetograph as kg
from kinetograph.session import cuda
with kg.profile() as outer:
    with torch.profiler.record_function("around"):
        child = os.fork()
        if child == 0:
            assert not torch.autograd.profiler._is_profiler_enabled
            torch.ones(2)
    if child == 0:
        with kg.profile(record_shapes=True) as inner:
            torch.ones(2)
        events = inner.events()
        assert [event.name for event in events] == ["aten::ones", "aten::empty", "aten::fill_"], events
        assert not any(note.kind == "unbalanced" for note in inner.trace.notes)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    torch.zeros(2)
print([event.name for event in outer.events()])
"""
    done = run(program)
    assert done.stdout.strip() == "['around', 'aten::zeros', 'aten::empty', 'aten::zero_']", done.stderr


# Told whenever torch's list of callbacks is changed by another process than the first.
WATCHING_THE_LIST = """
#include <dlfcn.h>
#include <unistd.h>

static pid_t first;
__attribute__((constructor)) static void remember(void) { first = getpid(); }

static void* torchs(const char* name) {
    static const char text[] = "changed in a child\\n";
    if (getpid() != first) write(2, text, sizeof text - 1);
    return dlsym(dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD), name);
}

void _ZN2at14removeCallbackEm(unsigned long handle) {
    ((void (*)(unsigned long))torchs("_ZN2at14removeCallbackEm"))(handle);
}

struct callback { char of_torch[64]; };  // no shorter than torch's, and so passed on as it is
unsigned long _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct callback given) {
    unsigned long (*add)(struct callback) = torchs("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    return add(given);
}
"""


@pytest.fixture
def watching_the_list(tmp_path: Path) -> dict[str, str]:
    source, library = tmp_path / "watch.c", tmp_path / "watch.so"
    source.write_text(WATCHING_THE_LIST)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}


def test_a_fork_waits_for_no_lock_of_torchs_and_the_child_records_only_what_it_wants(
    tmp_path: Path, watching_the_list: dict[str, str]
) -> None:
    program = f"""
import os, torch
import kinetograph as kg
observer = kg.ExecutionTraceObserver().register_callback({str(tmp_path / "graph.json")!r})
observer.start()
with kg.profile(record_shapes=True) as outer:
    child = os.fork()
    if child == 0:
        torch.ones(2)
        with kg.profile(frameworks=[]) as inner, kg.scope("own"):
            torch.ones(2)
        assert [event.name for event in inner.events()] == ["own"], inner.events()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
observer.unregister_callback()
"""
    done = run(program, **watching_the_list)
    assert done.returncode == 0, done.stderr
    assert "changed in a child" not in done.stderr


CHILD_RECORDS = """
import os, torch
import kinetograph as kg
with kg.profile(record_shapes=PARENTS) as outer:
    torch.ones(2)
    child = os.fork()
    if child == 0:
        for size in (3, 4):
            torch.ones(2)
            with kg.profile(record_shapes=CHILDS) as inner:
                torch.ones(size).neg()
            torch.ones(2)
            seen = [(event.name, event.input_shapes) for event in inner.events() if event.name == "aten::neg"]
            assert seen == [("aten::neg", [[size]] if CHILDS else [])], seen
            assert len(inner.events()) == 4, inner.events()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    torch.zeros(2)
print([event.name for event in outer.events()])
"""


@pytest.mark.parametrize(
    ("parents", "childs", "changes"),
    [(False, False, False), (True, False, False), (True, True, False), (False, True, True)],
)
def test_a_child_records_without_a_lock_that_torch_may_have_lost_in_the_fork(
    parents: bool, childs: bool, changes: bool, watching_the_list: dict[str, str]
) -> None:
    """With the callback of its parent's, unless it wants more than that can tell."""
    program = CHILD_RECORDS.replace("PARENTS", str(parents)).replace("CHILDS", str(childs))
    done = run(program, **watching_the_list)
    ones, zeros = ["aten::ones", "aten::empty", "aten::fill_"], ["aten::zeros", "aten::empty", "aten::zero_"]
    assert done.stdout.strip() == str(ones + zeros), done.stderr
    assert ("changed in a child" in done.stderr) is changes


def test_a_program_may_end_while_it_is_recorded(tmp_path: Path) -> None:
    program = f"""
import atexit, threading, torch
import kinetograph as kg
from kinetograph.session import cuda
kg.profile(record_shapes=True, recording=kg.RecordOptions(path={str(tmp_path / "trace.json")!r})).start()
atexit.register(lambda: torch.ones(2))
threading.Thread(target=lambda: [torch.ones(2) for _ in range(2000)]).start()
torch.profiler.record_function("to the end").__enter__()
"""
    done = run(program)
    assert done.returncode == 0, done.stderr
    seen = Counter(event.name for event in kg.load(tmp_path / "trace.json").events)
    assert seen["aten::ones"] == 2001
    assert seen["to the end"] == 1
