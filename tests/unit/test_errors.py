"""Who catches the errors of Python, or those of PyTorch, catches ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kinetograph as kg


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (TypeError, lambda: kg.profile(activities="cpu")),
        (TypeError, lambda: kg.profile(activities=[3])),
        (TypeError, lambda: kg.profile(record_shapes=1)),  # type: ignore[arg-type]
        (TypeError, lambda: kg.profile(on_trace_ready=3)),  # type: ignore[arg-type]
        (TypeError, lambda: kg.schedule(wait="1", warmup=1, active=1)),  # type: ignore[arg-type]
        (TypeError, lambda: kg.profile().add_metadata("key", 3)),  # type: ignore[arg-type]
        (TypeError, lambda: kg.load(3)),  # type: ignore[arg-type]
        (ValueError, lambda: kg.load("a\0b")),
        (ValueError, lambda: kg.profile(activities=["gramophone"])),
        (ValueError, lambda: kg.profile(activities=["cpu", "CPU"])),
        (ValueError, lambda: kg.profile(mode="reel")),  # type: ignore[arg-type]
        (ValueError, lambda: kg.profile(mode="ring", ring_seconds=-1)),
        (ValueError, lambda: kg.schedule(wait=-1, warmup=1, active=1)),
        (ValueError, lambda: kg.profile().add_metadata_json("key", "{")),
        (ValueError, lambda: kg.RecordOptions(path="/nowhere/x.json").usable_path()),
        (AssertionError, lambda: kg.profile().stop()),
        (AssertionError, lambda: kg.profile().key_averages()),
        (RuntimeError, lambda: kg.disable_profiler()),
    ],
)
def test_an_error_is_ours_and_the_one_that_python_has_for_it(
    kind: type[Exception], call: Callable[[], object]
) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, kg.KinetographError)


def test_pytorchs_names_are_there() -> None:
    assert kg.kineto_available() is True
    assert issubclass(kg.profile, kg._KinetoProfile)
    assert kg._ExperimentalConfig(verbose=True) == kg.ExperimentalConfig(verbose=True)
    assert kg.KinetoStepTracker.increment_step("test") == kg.KinetoStepTracker.current_step()
    kg.KinetoStepTracker.erase_step_count("test")
