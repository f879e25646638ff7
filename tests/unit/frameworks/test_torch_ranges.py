"""Ranges with inputs, which are torch's own and heard by us, do no harm: whatever else runs, however used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

import kinetograph as kg

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

INPUTS = [torch.ones(2, 3)]


def made_range(name: str, *details: Any) -> Any:
    """As torch makes one: looked up each time."""
    return torch._C._profiler._RecordFunctionFast(name, *details)


USES_BESIDE_TORCHS_PROFILER = {
    "entered and left while it runs": "with torchs, kept: torch.ones(1)",
    "left while it runs": "with kept: torchs.start()\ntorchs.stop()",
    # Heard there, the callback that began it would write to what has been given back, and nobody notice.
    "entered while it runs": "with torchs: kept.__enter__()\nkept._observer = None; kept.__exit__()",
}


@pytest.mark.parametrize("use", USES_BESIDE_TORCHS_PROFILER.values(), ids=USES_BESIDE_TORCHS_PROFILER)
def test_a_kept_range_leaves_the_state_of_torchs_profiler_alone(use: str) -> None:
    """Its callbacks take whatever state lies on top for their own: the process ended, or hung."""
    command = [sys.executable, "-X", "faulthandler", "-c", KEPT_BESIDE_TORCHS_PROFILER, use]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "kept False\n"), done.stderr


KEPT_BESIDE_TORCHS_PROFILER = """
import sys, torch, kinetograph as kg

with kg.profile(record_shapes=True) as profile:
    torchs = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)
    kept = torch._C._profiler._RecordFunctionFast("kept", [torch.ones(2)])
    exec(sys.argv[1])
(event,) = (event for event in profile.events() if event.name == "kept")
assert event.finished and event.shapes == [[2]], event
print(event.name, torch._C._autograd._profiler_enabled())
"""


def interrupted_after(call: Callable[..., object]) -> Callable[..., object]:
    """As Ctrl-C is: Python runs handlers of signals when a call returns."""

    def then_interrupted(*values: object) -> None:
        call(*values)
        raise KeyboardInterrupt

    return then_interrupted


def test_an_interrupt_once_a_range_is_heard_leaves_no_profiler_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with kg.profile(record_shapes=True) as profile:
        stopped = made_range("stopped", INPUTS)
        real = stopped._observer
        observer = SimpleNamespace(
            kinetograph_torch_hear_ranges=interrupted_after(real.kinetograph_torch_hear_ranges),
            kinetograph_torch_hear_no_more=real.kinetograph_torch_hear_no_more,
        )
        monkeypatch.setattr(stopped, "_observer", observer)
        with pytest.raises(KeyboardInterrupt):
            stopped.__enter__()
        assert not torch._C._autograd._profiler_enabled()
        with made_range("whole", INPUTS):
            pass
    assert [event.name for event in profile.events()] == ["whole"]


def test_an_interrupt_once_a_range_has_begun_ends_it() -> None:
    """Also for who keeps the error, and with it all that was called."""
    with kg.profile(record_shapes=True) as profile:
        sys.setprofile(interrupt_of_a_beginning)
        with pytest.raises(KeyboardInterrupt) as kept, made_range("stopped", INPUTS):
            pytest.fail("the range was not interrupted")
        assert not torch._C._autograd._profiler_enabled()
        torch.ones(1)
        del kept
    assert [event.name for event in profile.events() if event.parent is None] == ["stopped", "aten::ones"]


def interrupt_of_a_beginning(frame: FrameType, event: str, function: Any) -> None:
    has_begun = event == "c_return" and "RecordFunctionFast" in function.__qualname__
    del frame, function
    if has_begun:
        sys.setprofile(None)
        raise KeyboardInterrupt


def test_a_range_that_is_entered_again_while_it_is_open_lies_in_itself() -> None:
    with kg.profile(record_shapes=True) as profile:
        again = made_range("again", INPUTS)
        with again:
            with again:
                torch.ones(1)
            torch.zeros(1)
    (outer,) = (event for event in profile.events() if event.name == "again" and event.parent is None)
    inner, zeros = outer.children
    assert (inner.name, zeros.name) == ("again", "aten::zeros")
    assert [event.name for event in inner.children] == ["aten::ones"]
    assert (outer.shapes, inner.shapes) == ([[2, 3]], [[2, 3]])


def test_a_range_that_is_left_once_too_often_is_no_error_of_the_program() -> None:
    """Nor is it of torch's own, where no profiler of torch's runs."""
    with kg.profile(record_shapes=True) as profile:
        kept = made_range("kept", INPUTS)
        kept.__exit__(None, None, None)
        with kept:
            pass
        kept.__exit__(None, None, None)
    assert [event.name for event in profile.events()] == ["kept"]


def test_a_range_whose_inputs_torch_refuses_keeps_its_keywords_and_category() -> None:
    keywords = {"scope": "user_scope", "depth": 3}
    with kg.profile(record_shapes=True) as profile, made_range("refused", [*INPUTS, 1 << 70], keywords):
        pass
    (event,) = profile.events()
    assert (event.category, event.args["depth"]) == ("user_annotation", 3)


def test_a_range_with_a_keyword_that_torch_refuses_keeps_the_others_and_its_inputs() -> None:
    keywords = {"scope": "user_scope", "seed": 1 << 63, "depth": 3}
    with kg.profile(record_shapes=True) as profile, made_range("refused", INPUTS, keywords):
        pass
    (event,) = profile.events()
    assert (event.category, event.shapes, event.args["depth"]) == ("user_annotation", [[2, 3]], 3)


def test_callbacks_see_ranges_with_inputs_whether_or_not_shapes_are_recorded() -> None:
    seen: list[str] = []
    handle = kg.add_global_callback(lambda fn: seen.append(fn.name))
    try:
        for record_shapes in (False, True):
            with kg.profile(record_shapes=record_shapes) as profile, made_range("launch", INPUTS):
                pass
            (event,) = profile.events()
            assert event.shapes == ([[2, 3]] if record_shapes else [])
    finally:
        kg.remove_callback(handle)
    assert seen == ["launch", "launch"]
