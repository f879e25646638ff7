"""A kernel of one block, run from its PTX, and what it leaves in a profiler buffer."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ptx_machine import PtxMachine

from kinetograph import _native
from kinetograph.intra_kernel import layout
from kinetograph.trace import Trace

BOUNDARY = 1 << 47
"""Where low words of addresses wrap."""
ELSEWHERE = 0x1000
"""Where other arrays of a kernel lie."""
FAR_FROM_ELSEWHERE = 1 << 32


class EmulatedRun:
    """A kernel of one block, with a buffer of two segments: it has the first, which ends at the boundary."""

    def __init__(self, ptx: str, slots: int, kernel: str, *arguments: int | None) -> None:
        """None among the arguments is the buffer."""
        self.slots = slots
        self.segment = BOUNDARY - slots * layout.SLOT_BYTES
        self.address = self.segment - layout.HEADER_SLOTS * layout.SLOT_BYTES
        self.memory = bytearray((layout.HEADER_SLOTS + 2 * slots) * layout.SLOT_BYTES)
        header = (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION, slots, 2, layout.HEADER_SLOTS, 0, 0)
        struct.pack_into("<IIIIIIQ", self.memory, 0, *header)
        self.machine = PtxMachine(ptx, self.memory, self.address)
        self.machine.run(kernel, *(self.address if each is None else each for each in arguments))

    def stores_outside(self) -> list[int]:
        """In slots beside those of the segment, of which the last one stays empty."""
        end = BOUNDARY - layout.SLOT_BYTES
        return [
            address
            for address, values, size in self.machine.stores
            if not self.segment <= address <= end - len(values) * size
            and address != self.address + layout.CLAIMED_OFFSET
            and address > FAR_FROM_ELSEWHERE
        ]

    def records(self) -> list[tuple[int, int]]:
        """Tags and payloads, as far as the sums are whole."""
        found = []
        segment = layout.HEADER_SLOTS * layout.SLOT_BYTES
        [before] = struct.unpack_from("<I", self.memory, segment + layout.SLOT_BYTES)
        for slot in range(layout.SEGMENT_HEADER_SLOTS, self.slots - 1):
            at = segment + slot * layout.SLOT_BYTES
            total, clock, value = struct.unpack_from("<IIq", self.memory, at)
            tag = (total - before) % (1 << 32) - layout.SUM_STEP
            if not 0 <= tag < layout.SUM_STEP or total == clock == value == 0:
                break
            shows_value = tag == layout.KIND_PAYLOAD | layout.PAYLOAD_INT << 2
            found.append((tag, value if shows_value else 0))
            before = total
        return found

    def trace(self, task_names: Sequence[str] = ()) -> Trace:
        return Trace(_native.decode_intra_kernel(bytes(self.memory), list(task_names), 0, 0, -1))

    def notes(self) -> list[str]:
        return [f"{note.kind}: {note.text}" for note in self.trace().notes]
