"""Buffers have room for what was asked, lie as kernels need it, and are emptied without being made anew."""

from __future__ import annotations

import struct

import pytest

from kinetograph.errors import ArgumentError, UsageError
from kinetograph.intra_kernel import layout
from kinetograph.intra_kernel.triton import (
    alloc_profiler_buffer,
    export_to_perfetto_trace,
    load_profiler_buffer,
    reset_profiler_buffer,
)

torch = pytest.importorskip("torch")


def header(buffer: object) -> tuple[int, ...]:
    return struct.unpack_from("<IIIIIIQ", buffer[:4].numpy().tobytes())  # type: ignore[index]


@pytest.mark.parametrize("slots", [1, 1000, 1_000_000])
def test_segments_lie_within_the_buffer_at_multiples_of_their_size(slots: int) -> None:
    buffer = alloc_profiler_buffer(slots, device="cpu")
    _magic, _version, segment_slots, segments, first, _nothing, _claimed = header(buffer)
    usable = segment_slots - layout.SEGMENT_HEADER_SLOTS - layout.TAIL_SLOTS
    assert usable * segments >= slots
    assert (buffer.data_ptr() + first * 16) % (segment_slots * 16) == 0
    assert first >= layout.HEADER_SLOTS
    assert (first + segment_slots * segments) * 2 <= len(buffer)


def test_a_million_slots_do_for_blocks_with_many_records_and_for_many_blocks() -> None:
    buffer = alloc_profiler_buffer(1_000_000, device="cpu")
    _magic, _version, segment_slots, segments, *_rest = header(buffer)
    assert segment_slots - layout.SEGMENT_HEADER_SLOTS - layout.TAIL_SLOTS >= 500
    assert segments >= 7_500
    assert buffer.nbytes <= 80 << 20


def test_a_reset_buffer_is_as_new() -> None:
    buffer = alloc_profiler_buffer(100, device="cpu")
    new = buffer.clone()
    buffer[3] += 1
    buffer[100:] = 7
    reset_profiler_buffer(buffer)
    assert torch.equal(buffer, new)
    assert len(load_profiler_buffer(buffer)) == 0
    assert not load_profiler_buffer(buffer).notes


def test_bad_use_is_told() -> None:
    with pytest.raises(UsageError, match="max_num_profile_slots"):
        alloc_profiler_buffer(0)
    with pytest.raises(UsageError, match="power of two"):
        alloc_profiler_buffer(100, slots_per_segment=100)
    with pytest.raises(ArgumentError, match="alloc_profiler_buffer"):
        reset_profiler_buffer([1, 2])
    with pytest.raises(UsageError, match="no profiler buffer"):
        reset_profiler_buffer(torch.zeros(100, dtype=torch.int64))
    with pytest.raises(UsageError, match="folder"):
        export_to_perfetto_trace(alloc_profiler_buffer(1, device="cpu"), [], "no such folder/copy")
