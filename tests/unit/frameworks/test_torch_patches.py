"""`patch_torch`: ranges of torch in our traces where torch does not tell us of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import injection

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


@pytest.fixture(autouse=True)
def _patched() -> Iterator[None]:
    kg.patch_torch()
    yield
    kg.unpatch_torch()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a torch with NVTX would be called with: this one may have none."""
    kg.unpatch_torch()
    monkeypatch.delenv(injection.NVTX.variable, raising=False)
    made: list[Any] = []

    def note(name: str, result: int) -> Any:
        return lambda *args: made.append((name, *args)) or result

    names = {"rangePushA": 0, "rangePop": 0, "rangeStartA": 41, "rangeEnd": 0, "markA": 0}
    nvtx = SimpleNamespace(**{name: note(name, result) for name, result in names.items()})
    monkeypatch.setattr(torch.cuda.nvtx, "_nvtx", nvtx)
    kg.patch_torch()
    return made


def without_operators() -> Any:
    """As where the observer is not built."""
    return kg.profile(frameworks=[])


def names(profile: Any) -> list[str]:
    return [event.name for event in profile.events()]


def test_ranges_of_record_function_are_scopes_of_ours() -> None:
    @torch.profiler.record_function("decorated")
    def work() -> None:
        pass

    with without_operators() as profile, torch.profiler.record_function("outer", "some text"):
        work()
    outer, decorated = profile.events()
    assert (outer.name, outer.category, outer.args) == ("outer", "user_annotation", {"args": "some text"})
    assert (decorated.name, decorated.parent) == ("decorated", outer)


def test_names_that_torch_takes_are_taken() -> None:
    with without_operators() as profile, torch.profiler.record_function(b"load", b"some text"):
        pass
    assert [(event.name, event.args) for event in profile.events()] == [("load", {"args": "some text"})]


def test_no_range_is_recorded_twice_where_the_observer_tells_of_it() -> None:
    with kg.profile() as profile, torch.profiler.record_function("range"):
        pass
    assert names(profile) == ["range"]


def test_torchs_profiler_sees_its_ranges_as_ever() -> None:
    with torch.profiler.profile() as theirs, torch.profiler.record_function("range"):
        pass
    assert [row.key for row in theirs.key_averages()] == ["range"]


def test_ranges_of_nvtx_are_scopes_of_ours(calls: list[Any]) -> None:
    nvtx = torch.cuda.nvtx
    with without_operators() as profile:
        nvtx.range_push("pushed")
        nvtx.mark("here")
        with nvtx.range("inner {}", 3):
            pass
        nvtx.range_pop()
    events = {event.name: event for event in profile.events()}
    assert list(events) == ["pushed", "here", "inner 3"]
    assert events["inner 3"].parent == events["pushed"]
    assert events["here"].duration_ns == 0
    assert [name for name, *_ in calls] == ["rangePushA", "markA", "rangePushA", "rangePop", "rangePop"]


def test_bytes_that_nvtx_takes_are_taken(calls: list[Any]) -> None:
    torchs = torch.cuda.nvtx._nvtx
    with without_operators() as profile:
        torchs.rangePushA(b"pushed")
        torchs.markA(b"here")
        torchs.rangePop()
        torchs.rangeEnd(torchs.rangeStartA(b"crossing"))
    assert names(profile) == ["pushed", "here", "crossing"]
    assert [name for name, *_ in calls] == ["rangePushA", "markA", "rangePop", "rangeStartA", "rangeEnd"]


def test_ranges_of_nvtx_may_end_in_another_thread(calls: list[Any]) -> None:
    with without_operators() as profile:
        thread = threading.Thread(target=torch.cuda.nvtx.range_start, args=("crossing",))
        thread.start()
        thread.join()
        with kg.scope("between"):
            torch.cuda.nvtx.range_end(41)
    events = {event.name: event for event in profile.events()}
    assert events["crossing"].finished
    assert events["crossing"].end_ns > events["between"].start_ns
    assert calls == [("rangeStartA", "crossing"), ("rangeEnd", 41)]


def test_where_nvtx_is_installed_its_ranges_are_left_to_that(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(injection.NVTX.variable, injection.library())
    with without_operators() as profile, torch.cuda.nvtx.range("range"):
        pass
    assert names(profile) == []
    assert len(calls) == 2


def test_what_torch_refuses_it_still_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    kg.unpatch_torch()

    def refuse(_text: str) -> None:
        raise RuntimeError("NVTX functions not installed")

    monkeypatch.setattr(torch.cuda.nvtx, "_nvtx", SimpleNamespace(rangePushA=refuse))
    kg.patch_torch()
    with without_operators() as profile, pytest.raises(RuntimeError, match="not installed"):
        torch.cuda.nvtx.range_push("range")
    assert names(profile) == []


def test_a_range_that_began_before_the_session_ends_in_peace(calls: list[Any]) -> None:
    torch.cuda.nvtx.range_push("before")
    with without_operators() as profile:
        torch.cuda.nvtx.range_pop()
    assert names(profile) == []
    assert "unbalanced" not in {note.kind for note in profile.trace.notes}


def test_twice_is_once_and_undone_all_is_as_before() -> None:
    kg.unpatch_torch()
    own = (torch.profiler.record_function.__enter__, torch.cuda.nvtx._nvtx)
    kg.patch_torch()
    kg.patch_torch()
    kg.unpatch_torch()
    assert (torch.profiler.record_function.__enter__, torch.cuda.nvtx._nvtx) == own
    kg.unpatch_torch()
    with without_operators() as profile, torch.profiler.record_function("range"):
        pass
    assert names(profile) == []


def test_torch_is_patched_once_it_is_imported() -> None:
    program = """
import sys
import kinetograph as kg
kg.patch_torch()
assert "torch" not in sys.modules
import torch
with kg.profile(frameworks=[]) as profile, torch.profiler.record_function("range"):
    pass
print([event.name for event in profile.events()])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.strip() == "['range']", done.stderr


def scripted(x):  # type: ignore[no-untyped-def]
    with torch.autograd.profiler.record_function("block"):
        return x + 1


def test_torchscript_compiles_ranges_as_before() -> None:
    assert torch.jit.script(scripted)(torch.zeros(1)).item() == 1


def test_what_another_tool_put_over_a_range_stays() -> None:
    ranges = torch.autograd.profiler.record_function
    ours, torchs = ranges.__enter__, ranges.__enter__.__wrapped__
    seen: list[str] = []

    def theirs(self: Any) -> Any:
        seen.append(self.name)
        return ours(self)

    ranges.__enter__ = theirs
    try:
        kg.unpatch_torch()
        with torch.profiler.record_function("block"):
            pass
        assert seen == ["block"]
        with without_operators() as profile, torch.profiler.record_function("not patched"):
            pass
        assert names(profile) == []
        kg.patch_torch()
        with without_operators() as profile, torch.profiler.record_function("patched again"):
            pass
        assert names(profile) == ["patched again"]
        assert not {"unbalanced", "unfinished"} & {note.kind for note in profile.trace.notes}
    finally:
        kg.unpatch_torch()
        ranges.__enter__ = torchs
