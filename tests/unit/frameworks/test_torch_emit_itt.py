"""What torch's emit_itt tells beside our observer is in the trace once.

In a process of its own, since torch decides but once who is told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

pytestmark = pytest.mark.skipif(
    not torch.profiler.itt.is_available(), reason="this torch was built without ITT"
)

PROGRAM = """
import json
from collections import Counter
from contextlib import nullcontext

import kinetograph as kg

kg.itt.install()
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters())

def seen(emission):
    with kg.profile(frameworks=["torch"]) as profile, emission:
        torch.profiler.itt.range_push("of the program")
        with torch.profiler.record_function("users"):
            model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        torch.profiler.itt.range_pop()
    return Counter(event.name for event in profile.events())

seen(nullcontext())
print(json.dumps([seen(nullcontext()), seen(torch.autograd.profiler.emit_itt())]))
"""


def test_operators_and_ranges_that_torch_emits_by_itt_are_recorded_once() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "INTEL_LIBITTNOTIFY64"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    without, emitted = json.loads(done.stdout)
    assert emitted == without
    assert without["of the program"] == without["users"] == 1
    assert without["aten::addmm"] == 1
