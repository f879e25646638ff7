"""By which way torch is asked for the names of its operators, and what is told where there is none.

The torch here is a fake, for one with CUDA is not to be had everywhere. A real one runs in
`test_torch_without_compiler.py` and on a GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native, injection

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from kinetograph.frameworks.torch.emitted import EmittedOperators  # noqa: E402
from kinetograph.frameworks.torch.routes import route_of  # noqa: E402


class FakeTorch:
    """Comes to us with its first range, by NVTX and by ITT, if `comes`."""

    __version__ = "9.9"

    def __init__(self, *, cuda: str | None = None, has_itt: bool = False, comes: bool = True) -> None:
        self.version = SimpleNamespace(cuda=cuda)
        self.comes = comes
        self.clients: set[str] = set()
        self.states: list[str] = []
        self._is_profiling = False
        self.autograd = SimpleNamespace(
            profiler=SimpleNamespace(
                ProfilerState=SimpleNamespace(NVTX="nvtx state", ITT="itt state"),
                ProfilerConfig=lambda state, *others: state,
                _is_profiler_enabled=False,
                _enable_profiler=lambda *args: None,
            )
        )
        self._C = SimpleNamespace(
            _itt=SimpleNamespace(is_available=lambda: has_itt, mark=lambda _name: self._come("torch")),
            _profiler=SimpleNamespace(_ExperimentalConfig=object, _RecordFunctionFast=self._range),
            _autograd=SimpleNamespace(
                _profiler_enabled=lambda: self._is_profiling,
                _enable_profiler=self._enable,
                _disable_profiler=lambda: self.states.append("off"),
            ),
        )

    def begin_own_profiler(self) -> None:
        self._is_profiling = True

    def _come(self, library: str) -> None:
        if self.comes:
            self.clients.add(library)

    def _enable(self, state: str, _activities: set[Any]) -> None:
        self.states.append(state)

    @contextmanager
    def _range(self, _name: str) -> Iterator[None]:
        if self.states[-1:] == ["nvtx state"]:
            self._come("libtorch_cuda.so")
        yield


@pytest.fixture
def is_ours(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Both interfaces are installed."""
    monkeypatch.setenv("NVTX_INJECTION64_PATH", injection.library())
    monkeypatch.setenv("INTEL_LIBITTNOTIFY64", injection.library())
    return monkeypatch


def let_come(fake: FakeTorch, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_client(interface: injection.Interface, name: str) -> bool:
        return injection.is_installed(interface) and name in fake.clients

    monkeypatch.setattr(injection, "is_client", is_client)


def chosen(fake: FakeTorch, monkeypatch: pytest.MonkeyPatch) -> str:
    let_come(fake, monkeypatch)
    return route_of(fake)


def refusal(fake: FakeTorch, monkeypatch: pytest.MonkeyPatch) -> str:
    with pytest.raises(kg.NotAvailable) as error:
        chosen(fake, monkeypatch)
    return str(error.value)


def test_itt_comes_first(is_ours: pytest.MonkeyPatch) -> None:
    assert chosen(FakeTorch(cuda="13.0", has_itt=True), is_ours) == "ITT"


def test_nvtx_where_torch_has_no_itt_and_torch_is_left_as_it_was(is_ours: pytest.MonkeyPatch) -> None:
    fake = FakeTorch(cuda="13.0")
    assert chosen(fake, is_ours) == "NVTX"
    assert fake.states == ["nvtx state", "off"]
    assert chosen(fake, is_ours) == "NVTX"
    assert fake.states == ["nvtx state", "off"]


def test_nvtx_where_itt_was_not_installed_in_time(is_ours: pytest.MonkeyPatch) -> None:
    is_ours.delenv("INTEL_LIBITTNOTIFY64")
    assert chosen(FakeTorch(cuda="13.0", has_itt=True), is_ours) == "NVTX"


def test_without_itt_and_cuda_both_are_named(is_ours: pytest.MonkeyPatch) -> None:
    told = refusal(FakeTorch(), is_ours)
    assert "by ITT: torch 9.9 was built without ITT" in told
    assert "by NVTX: torch 9.9 was built without CUDA" in told


def test_nvtx_that_is_not_installed_is_told_with_what_to_do(is_ours: pytest.MonkeyPatch) -> None:
    is_ours.delenv("NVTX_INJECTION64_PATH")
    fake = FakeTorch(cuda="13.0")
    assert "hint: call kg.nvtx.install() before the session" in refusal(fake, is_ours)
    assert fake.states == []
    assert injection.owner(injection.NVTX) is None


def test_nvtx_of_another_tool_is_told_with_its_name(is_ours: pytest.MonkeyPatch) -> None:
    tool = _native.__file__  # a library, and not ours
    is_ours.setenv("NVTX_INJECTION64_PATH", tool)
    fake = FakeTorch(cuda="13.0")
    assert f"NVTX annotations go to {tool}" in refusal(fake, is_ours)
    assert fake.states == []


def test_a_torch_that_does_not_come_to_us_is_told_about(is_ours: pytest.MonkeyPatch) -> None:
    fake = FakeTorch(cuda="13.0", comes=False)
    assert "libtorch_cuda.so of torch 9.9 has not come to us" in refusal(fake, is_ours)
    assert fake.states == ["nvtx state", "off"]


def test_torchs_own_profiler_is_not_disturbed_to_find_out(is_ours: pytest.MonkeyPatch) -> None:
    fake = FakeTorch(cuda="13.0")
    fake.begin_own_profiler()
    assert "torch's own profiler runs in this thread" in refusal(fake, is_ours)
    assert fake.states == []


def in_a_thread(work: Callable[[], None]) -> int:
    """The number of it, which the next one may have, too."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert thread.ident is not None
    return thread.ident


def test_a_thread_that_ends_in_the_middle_of_a_session_leaves_nothing_behind(
    is_ours: pytest.MonkeyPatch,
) -> None:
    fake = FakeTorch(cuda="13.0")
    let_come(fake, is_ours)
    profiler = fake.autograd.profiler
    begins = profiler._enable_profiler
    left = EmittedOperators(fake, because="there is no compiler")
    fake.states.clear()
    first = in_a_thread(left.start)
    assert fake.states == ["nvtx state"]
    assert not profiler._is_profiler_enabled
    assert profiler._enable_profiler is begins
    left.release()

    def start_and_release() -> None:
        use = EmittedOperators(fake, because="there is no compiler")
        use.start()
        use.release()

    for _ in range(10):
        fake.states.clear()
        if in_a_thread(start_and_release) == first:
            break
    assert fake.states == ["nvtx state", "off"]
