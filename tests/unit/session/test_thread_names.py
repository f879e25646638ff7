"""Names of threads at a stop, where the program has threads of all sorts."""

from __future__ import annotations

import threading

import kinetograph as kg


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
