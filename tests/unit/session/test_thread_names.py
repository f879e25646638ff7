"""Names of threads, where the program has threads of all sorts."""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.unit.test_record_abi import CPU_OP, FUNCTION, table_for

import kinetograph as kg
from kinetograph import _native


class Unnamed(threading.Thread):
    """Its name is nobody's business."""

    @property
    def name(self) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


def test_a_thread_whose_name_cannot_be_had_is_no_reason_for_a_stop_to_fail() -> None:
    is_stopped = threading.Event()
    thread = Unnamed(target=is_stopped.wait, kwargs={"timeout": 60}, daemon=True)
    with kg.profile() as profile:
        thread.start()
        with kg.scope("beside it"):
            pass
    is_stopped.set()
    thread.join()
    assert [event.name for event in profile.events()] == ["beside it"]


def names_of_tracks(profile: Any) -> dict[str, str]:
    """Of each event; empty where its thread has none."""
    tracks = {event.name: event.track.name for event in profile.events()}
    return {name: track.partition("(")[2].rstrip(")") for name, track in tracks.items()}


def record_natively() -> None:
    """As a library does that knows no Python."""
    table = table_for(_native.RECORD_ABI)
    assert table is not None
    name = table.intern(b"native", 6)
    table.begin(name, CPU_OP, FUNCTION)
    table.end(name)


def test_a_thread_that_is_renamed_has_its_last_name() -> None:
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        kg.mark("worker")
        threading.current_thread().name = "renamed"
        begun.set()
        over.wait(60)

    thread = threading.Thread(target=work, name="first")
    with kg.profile() as profile:
        thread.start()
        assert begun.wait(60)
    over.set()
    thread.join()
    assert names_of_tracks(profile) == {"worker": "renamed"}


def test_threads_of_a_pool_have_their_numbers() -> None:
    with kg.profile() as profile, ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
        pool.submit(kg.mark, "worker").result()
    assert names_of_tracks(profile) == {"worker": "pool_0"}


def test_a_thread_that_threading_did_not_start_has_no_name() -> None:
    is_done = threading.Event()

    def work() -> None:
        kg.mark("worker")
        is_done.set()

    with kg.profile() as profile:
        _thread.start_new_thread(work, ())
        assert is_done.wait(60)
    assert names_of_tracks(profile) == {"worker": ""}


def in_thread_of_c(work: Callable[[], None]) -> None:
    """With a name of its own, as libraries give their threads."""
    libc = ctypes.CDLL(None)
    libc.pthread_self.restype = ctypes.c_ulong
    libc.pthread_setname_np.argtypes = (ctypes.c_ulong, ctypes.c_char_p)

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def named(_argument: object) -> None:
        libc.pthread_setname_np(libc.pthread_self(), b"of C")
        work()

    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, named, None) == 0
    assert libc.pthread_join(thread, None) == 0


@pytest.mark.parametrize("invents_one", [False, True])
def test_a_thread_of_c_has_the_name_it_was_given_there(invents_one: bool) -> None:
    def work() -> None:
        if invents_one:
            assert threading.current_thread().name.startswith("Dummy-")
        kg.mark("worker")
        threading._active.pop(_thread.get_ident(), None)  # type: ignore[attr-defined]  # it would stay for ever

    with kg.profile() as profile:
        in_thread_of_c(work)
    assert names_of_tracks(profile) == {"worker": "of C"}


def test_a_thread_that_recorded_natively_first_is_asked_for_its_name_all_the_same() -> None:
    def work() -> None:
        record_natively()
        kg.mark("worker")

    with kg.profile() as profile:
        thread = threading.Thread(target=work, name="named")
        thread.start()
        thread.join()  # so that a stop finds nobody to ask
    assert names_of_tracks(profile) == {"native": "named", "worker": "named"}


class Asked(dict[int, threading.Thread]):
    """The threads that threading knows, and who was looked for in them."""

    def __init__(self) -> None:
        super().__init__(threading._active)  # type: ignore[attr-defined]
        self.idents: list[int] = []

    def get(self, ident: int, *default: Any) -> Any:
        self.idents.append(ident)
        return super().get(ident, *default)


@pytest.mark.parametrize("natively_first", [False, True])
def test_a_thread_is_asked_for_its_name_once(natively_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    idents, is_done = [], threading.Event()

    def work() -> None:
        idents.append(_thread.get_ident())
        if natively_first:
            record_natively()
        for _ in range(100):
            with kg.scope("worker"):
                kg.counter("count", 1)
        is_done.set()

    with kg.profile():
        monkeypatch.setattr(threading, "_active", asked := Asked())
        _thread.start_new_thread(work, ())
        assert is_done.wait(60)
        monkeypatch.undo()
    assert asked.idents.count(idents[0]) == 1


def test_asking_for_a_name_is_no_call_of_the_program() -> None:
    with kg.profile(with_stack=True) as profile:
        thread = threading.Thread(target=kg.scope("worker")(lambda: None))
        thread.start()
        thread.join()
    calls = [event.name for event in profile.events() if event.name.endswith((": name", ": get"))]
    assert not [name for name in calls if "threading.py" in name]
