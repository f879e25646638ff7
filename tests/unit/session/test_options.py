"""RecordOptions: where events are kept, and the combinations that make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinetograph.errors import KinetographError
from kinetograph.session.options import RecordOptions


def test_by_default_a_gibibyte_is_kept_and_the_rest_spilled() -> None:
    options = RecordOptions()
    assert (options.mode, options.memory_limit_bytes, options.at_limit) == ("record", 1 << 30, "spill")
    assert not options.crash_safe


def test_a_ring_without_a_size_takes_the_memory_limit() -> None:
    assert RecordOptions(mode="ring", memory_limit_bytes=1 << 20).ring_limit_bytes == 1 << 20
    assert RecordOptions(mode="ring", ring_bytes=4096).ring_limit_bytes == 4096


def test_paths_may_be_strings_or_path_objects() -> None:
    options = RecordOptions(crash_safe=True, directory=Path("here"), path="trace.json")
    assert options.directory == Path("here")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "loop"}, "mode: expected 'record' or 'ring', got 'loop'"),
        ({"at_limit": "stop"}, "at_limit: expected 'spill' or 'drop'"),
        ({"memory_limit_bytes": 0}, "memory_limit_bytes: expected a positive number of bytes, got 0"),
        ({"memory_limit_bytes": True}, "memory_limit_bytes: expected a positive number"),
        ({"memory_limit_bytes": 1e9}, "memory_limit_bytes: expected a positive number of bytes"),
        ({"ring_bytes": 1 << 20}, "ring_bytes needs mode='ring'"),
        ({"ring_seconds": 2}, "ring_seconds needs mode='ring'"),
        ({"mode": "ring", "ring_seconds": -1}, "ring_seconds: expected a positive number of seconds, got -1"),
        ({"mode": "ring", "ring_bytes": 2 << 30}, "is more than memory_limit_bytes"),
        ({"crash_safe": None}, "crash_safe: expected True or False"),
        ({"directory": ""}, "directory: expected a path or None, got ''"),
        ({"path": 3}, "path: expected a path or None, got 3"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KinetographError) as caught:
        RecordOptions(**options)
    assert message in str(caught.value)
    assert caught.value.hint
