"""`emit_nvtx` and `emit_itt` as objects; what they send: tests/integration/test_other_tools.py."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.errors import ArgumentError, NotAvailable, StateError
from kinetograph.session import details

BOTH = pytest.mark.parametrize("emit", [kg.emit_nvtx, kg.emit_itt])


@BOTH
def test_without_a_tool_scopes_stay_off(emit: Any) -> None:
    with emit() as emission:
        assert emission.is_on
        assert not _native.is_emitting()
        with kg.scope("work"):
            kg.mark("here")
    assert not emission.is_on


@BOTH
def test_without_a_tool_no_thread_gets_a_profile_function(emit: Any) -> None:
    with emit(with_calls=True):
        assert not _native.follows_calls_here()
        assert threading.getprofile() is None


@BOTH
def test_one_that_is_disabled_does_nothing(emit: Any) -> None:
    with emit(enabled=False) as emission:
        assert not emission.is_on


@BOTH
def test_an_emission_is_not_entered_twice(emit: Any) -> None:
    with emit() as emission, pytest.raises(StateError, match=f"this {emit.__name__} is on already"):
        emission.start()
    with emission:
        pass


@BOTH
def test_shapes_are_looked_at_only_within_the_block(emit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "emits_to", lambda _itt: True)
    with emit(record_shapes=True):
        assert details.emits_shapes()
    assert not details.emits_shapes()


@BOTH
def test_without_a_tool_inputs_are_nobodys(emit: Any) -> None:
    array = np.ones(3)
    seen = weakref.ref(array)
    with emit(record_shapes=True), kg.scope("work", inputs=[array]):
        del array
        assert seen() is None


@BOTH
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "behind"])
def test_a_start_that_ctrl_c_interrupts_leaves_nothing_on(
    emit: Any, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    emission = emit(record_shapes=True)
    with interrupted(monkeypatch, "start_emission", is_done):
        emission.start()
    assert not emission.is_on
    assert not details.emits_shapes()


@BOTH
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "behind"])
def test_a_stop_that_ctrl_c_interrupts_is_made_up_for_by_the_next(
    emit: Any, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    emission = emit(record_shapes=True)
    with monkeypatch.context() as patched:
        patched.setattr(_native, "emits_to", lambda _itt: True)
        emission.start()
    with interrupted(monkeypatch, "stop_emission", is_done):
        emission.stop()
    assert emission.is_on
    assert details.emits_shapes()
    emission.stop()
    assert not emission.is_on
    assert not details.emits_shapes()


@contextmanager
def interrupted(monkeypatch: pytest.MonkeyPatch, name: str, is_done: bool) -> Iterator[None]:
    real = getattr(_native, name)

    def interrupt(*arguments: Any) -> None:
        if is_done:
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_native, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            yield


@BOTH
def test_switches_are_switches(emit: Any) -> None:
    for option in ("enabled", "record_shapes", "with_calls"):
        with pytest.raises(ArgumentError, match=f"{option}: expected True or False, got 1"):
            emit(**{option: 1})


@BOTH
def test_what_an_emission_does_not_take_is_told_by_the_name_that_was_called(emit: Any) -> None:
    for arguments, options, why in (
        ((), {"foo": 1}, "got an unexpected keyword argument 'foo'"),
        ((True, False, True), {}, "takes from 1 to 3 positional arguments but 4 were given"),
        ((True,), {"enabled": True}, "got multiple values for argument 'enabled'"),
    ):
        with pytest.raises(ArgumentError) as caught:
            emit(*arguments, **options)
        assert str(caught.value).startswith(f"{emit.__name__}() {why}\nhint: ")


def test_a_build_without_nvtx_says_so_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "nvtx_is_built", lambda: False)
    assert not kg.nvtx.is_available()
    with pytest.raises(NotAvailable, match=r"emit_nvtx is not available here: .*headers of NVTX") as caught:
        kg.emit_nvtx().start()
    assert caught.value.hint
    kg.emit_nvtx(enabled=False).start()


@pytest.mark.parametrize("state", [kg.ProfilerState.NVTX, kg.ProfilerState.ITT])
def test_a_session_that_only_emits_can_be_paused_and_has_an_empty_trace(state: kg.ProfilerState) -> None:
    from kinetograph.session.recording import Session

    session = Session.start(kg.ProfilerConfig(state), {kg.ActivityType.CPU}, starts_paused=True)
    assert session.is_running
    assert not session.has_begun
    assert session.resume()
    assert session.pause()
    assert not session.pause()
    assert session.resume()
    with kg.scope("work"):
        assert not _native.is_recording()
    trace = session.stop()
    assert not session.is_running
    assert len(trace.events) == 0
    assert [note.kind for note in trace.notes if note.kind == "emission"] == ["emission"]
    with pytest.raises(StateError, match="has been stopped already"):
        session.stop()


def test_a_session_that_only_emits_can_be_discarded() -> None:
    from kinetograph.session.recording import Session

    session = Session.start(kg.ProfilerConfig(kg.ProfilerState.ITT), {kg.ActivityType.CPU})
    session.discard()
    session.discard()
    assert not session.is_running
    assert not session.resume()


def test_what_callbacks_raise_is_a_note_of_a_session_that_only_emits() -> None:
    def fails(_record: kg.RecordFunction) -> None:
        raise ValueError("no")

    kg.enable_profiler(kg.ProfilerConfig(kg.ProfilerState.ITT), {kg.ActivityType.CPU})
    handle = kg.add_global_callback(fails)
    with kg.scope("work"):
        pass
    kg.remove_callback(handle)
    (note,) = (note.text for note in kg.disable_profiler().trace.notes if note.kind == "callback")
    assert "fails raised ValueError('no')" in note
