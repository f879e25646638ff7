"""Whether torch takes itself for profiled: while a session of ours records, and as its own profiler says."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.session import cuda

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


def test_after_the_last_session_torch_is_not_watched() -> None:
    assert not torch.autograd.profiler._is_profiler_enabled
    with kg.profile():
        assert torch.autograd.profiler._is_profiler_enabled
        with kg.profile():
            pass
        assert torch.autograd.profiler._is_profiler_enabled
    assert not torch.autograd.profiler._is_profiler_enabled
    assert not torch._C._autograd._profiler_enabled()


def test_torch_takes_itself_for_profiled_after_its_own_profiler_has_ended() -> None:
    set_flag = torch.autograd.profiler._set_is_profiler_enabled
    with kg.profile():
        with torch.profiler.profile():
            assert torch.autograd.profiler._is_profiler_enabled
        assert torch.autograd.profiler._is_profiler_enabled
    assert not torch.autograd.profiler._is_profiler_enabled
    assert torch.autograd.profiler._set_is_profiler_enabled is set_flag


def test_torchs_own_profiler_outlives_ours_and_is_still_seen() -> None:
    theirs = torch.profiler.profile()
    with kg.profile():
        theirs.start()
    assert torch.autograd.profiler._is_profiler_enabled
    with kg.profile():
        theirs.stop()
        assert torch.autograd.profiler._is_profiler_enabled
    assert not torch.autograd.profiler._is_profiler_enabled


def test_what_another_tool_put_over_the_flag_is_asked_by_the_next_session_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profiler = torch.autograd.profiler
    seen: list[bool] = []
    with kg.profile():
        below = profiler._set_is_profiler_enabled
        monkeypatch.setattr(
            profiler, "_set_is_profiler_enabled", lambda enable: seen.append(enable) or below(enable)
        )
    with kg.profile():
        with torch.profiler.profile():
            pass
        assert profiler._is_profiler_enabled
    assert not profiler._is_profiler_enabled
    assert seen == [True, True]
    with torch.profiler.profile():
        assert profiler._is_profiler_enabled
    assert not profiler._is_profiler_enabled
    monkeypatch.undo()
    # Torch's own, which the first session had found.
    profiler._set_is_profiler_enabled = below.torchs


def test_torchs_own_profiler_in_another_thread_is_told_from_ours() -> None:
    """Two cannot have CUPTI; that we profile torch ourselves is no reason to stand back."""
    begun, may_end = threading.Event(), threading.Event()

    def profile_there() -> None:
        with torch.profiler.profile():
            begun.set()
            may_end.wait(60)

    other = threading.Thread(target=profile_there)
    with kg.profile():
        assert not cuda._torch_is_profiling()
        other.start()
        assert begun.wait(60)
        assert cuda._torch_is_profiling()
        may_end.set()
        other.join()
        assert not cuda._torch_is_profiling()
        assert torch.autograd.profiler._is_profiler_enabled
    assert not torch.autograd.profiler._is_profiler_enabled
