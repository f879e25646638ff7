"""Whatever is passed as a profiler buffer: nothing beside it is read or written."""

from __future__ import annotations

import numpy as np
import pytest

from kinetograph.errors import UsageError
from kinetograph.intra_kernel.cuda import alloc_profiler_buffer, load_profiler_buffer, reset_profiler_buffer


def new_buffer() -> np.ndarray:
    return alloc_profiler_buffer(100, kind="numpy")  # type: ignore[no-any-return]


@pytest.mark.parametrize("parts", [slice(None, None, -1), slice(None, None, 2)])
def test_an_array_that_is_not_in_one_piece_is_no_buffer(parts: slice) -> None:
    apart = new_buffer()[parts]
    for use in (load_profiler_buffer, reset_profiler_buffer):
        with pytest.raises(UsageError, match="in one piece"):
            use(apart)


def test_an_array_of_another_shape_and_type_holds_the_same() -> None:
    buffer = new_buffer()
    for same in (buffer.view(np.float32), buffer.reshape(2, -1)):
        assert not load_profiler_buffer(same).notes


def test_a_read_only_array_can_be_read_and_is_not_written() -> None:
    frozen = np.frombuffer(new_buffer().tobytes(), dtype=np.int64)
    assert not load_profiler_buffer(frozen).notes
    with pytest.raises(UsageError, match="read-only"):
        reset_profiler_buffer(frozen)


@pytest.mark.parametrize("words", [4, 300])
def test_a_part_of_a_buffer_is_not_made_one_that_kernels_would_write_beyond(words: int) -> None:
    with pytest.raises(UsageError, match="a part of one"):
        reset_profiler_buffer(new_buffer()[:words].copy())


def test_a_header_that_makes_no_sense_is_told() -> None:
    buffer = new_buffer()
    buffer.view(np.uint32)[2] = 0  # slots of a segment
    with pytest.raises(UsageError, match="header"):
        reset_profiler_buffer(buffer)
    [note] = load_profiler_buffer(buffer).notes
    assert note.kind == "damaged"


def test_a_tensor_without_memory_is_no_buffer() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(UsageError, match="in one piece"):
        load_profiler_buffer(torch.zeros(100, device="meta"))


def test_objects_are_no_records() -> None:
    [note] = load_profiler_buffer(np.array([None] * 100)).notes
    assert note.kind == "damaged"
