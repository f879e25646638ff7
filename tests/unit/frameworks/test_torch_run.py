"""`kinetograph run` of programs that import torch: the session began long before."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.session.late_import import AfterImport

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


PROGRAM = """
import os, sys
import torch
assert "exec_module" not in vars(torch.__loader__)
torch.ones(2) @ torch.ones(2)
if os.fork() == 0:
    torch.zeros(2)
    os._exit(0)
os.wait()
"""


def ran(tmp_path: Path, program: str, *options: str) -> kg.Trace:
    (tmp_path / "program.py").write_text(program)
    output = tmp_path / "trace.json"
    command = [sys.executable, "-m", "kinetograph", "run", "-q", "-o", output, *options]
    done = subprocess.run(
        [*command, tmp_path / "program.py"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return kg.load(output)


@pytest.mark.parametrize("options", [(), ("--no-calls",)])
def test_operators_are_recorded_once_torch_is_imported(tmp_path: Path, options: tuple[str, ...]) -> None:
    trace = ran(tmp_path, PROGRAM, *options)
    seen = Counter(event.name for event in trace.events if event.category == "cpu_op")
    assert (seen["aten::ones"], seen["aten::dot"], seen["aten::zeros"]) == (2, 1, 1), trace.notes
    calls = [event for event in trace.events if event.is_python_function]
    assert any("torch/__init__.py" in call.name for call in calls) == (not options)


def test_a_program_without_torch_is_left_alone(tmp_path: Path) -> None:
    program = "import json, sys\nprint('torch' in sys.modules)"
    trace = ran(tmp_path, program)
    assert not any(note.kind == "torch" for note in trace.notes)


@pytest.mark.skipif(not torch.profiler.itt.is_available(), reason="this torch was built without ITT")
def test_without_a_compiler_operators_have_names_and_the_trace_says_why_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    trace = ran(tmp_path, "import torch\ntorch.ones(2)", "--no-calls")
    operators = [event.name for event in trace.events if event.category == "cpu_op"]
    assert operators == ["aten::ones", "aten::empty", "aten::fill_"]
    (note,) = (note.text for note in trace.notes if note.kind == "torch")
    assert "names and nesting only" in note
    assert "no C++ compiler was found" in note


def test_a_module_is_told_of_once_and_imported_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brings_news.py").write_text("import json\nvalue = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    told: list[Any] = []
    before = list(sys.meta_path)
    AfterImport("brings_news", lambda module: told.append(module.value)).install()
    AfterImport("brings_news", lambda module: told.append(module.value)).install()
    import brings_news  # type: ignore[import-not-found]

    assert told == [3]
    assert sys.meta_path == before
    assert vars(brings_news.__loader__).keys() == vars(json.__loader__).keys()
    monkeypatch.delitem(sys.modules, "brings_news")


MODULES = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
model(torch.ones(1, 2))
"""


@pytest.mark.parametrize("options", [(), ("--no-calls", "--with-modules")])
def test_modules_are_named_once_torch_is_imported(tmp_path: Path, options: tuple[str, ...]) -> None:
    trace = ran(tmp_path, MODULES, *options)
    calls = [event for event in trace.events if event.is_python_function]
    modules = [event for event in calls if event.name.startswith("nn.Module: ")]
    assert [event.name for event in modules if event.module_hierarchy[:1] == ["Sequential_0"]] == [
        "nn.Module: Linear_0",
        "nn.Module: ReLU_0",
    ], trace.notes
    assert (len(calls) > len(modules)) == (not options)
