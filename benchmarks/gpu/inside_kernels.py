"""A copy and a pipelined matmul with records of one tool or another around load, dot and store.

No annotations from the future here: Triton reads those of a kernel.
"""

import triton
import triton.language as tl
import triton.profiler.language as proton
from triton.language import core

from kinetograph.intra_kernel.triton import Profiler, tid

NO_RECORDS = tl.constexpr(0)
OURS = tl.constexpr(1)
FENCED = tl.constexpr(2)
PROTON = tl.constexpr(3)
CLAIMED = tl.constexpr(4)


@core.extern
def _fenced_record(slot, leads, tag, _semantic=None):
    """Eight bytes between two fences, as Triton-distributed writes them."""
    return core.inline_asm_elementwise(
        """{
            .reg .pred leads;
            .reg .u32 time;
            setp.ne.u32 leads, $2, 0;
            fence.sc.cta;
            mov.u32 time, %globaltimer_lo;
            @leads st.global.v2.u32 [$1], {$3, time};
            fence.sc.cta;
            mov.u32 $0, 0;
        }""",
        "=r,l,r,r",
        [slot, leads, tag],
        dtype=core.int32,
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )


@triton.jit
def begin(buffer, TOOL: tl.constexpr):
    if TOOL == OURS or TOOL == CLAIMED:
        return Profiler.create(buffer, 0, 1, is_leader=(tid(0) == 0))
    elif TOOL == FENCED:
        blocks = tl.num_programs(0) * tl.num_programs(1)
        block = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
        return buffer.to(tl.int64) + (1 + blocks + block).to(tl.int64) * 8
    else:
        return 0


@triton.jit
def edge(state, IS_START: tl.constexpr, TASK: tl.constexpr, TOOL: tl.constexpr):
    if TOOL == OURS:
        return state.record(is_start=IS_START, task_type=TASK)
    elif TOOL == FENCED:
        blocks = tl.num_programs(0) * tl.num_programs(1)
        _fenced_record(state, (tid(0) == 0).to(tl.int32), tl.full((), TASK * 2 + IS_START, tl.int32))
        return state + blocks * 8
    else:
        return state


@triton.jit
def copied_tile(state, source, target, offsets, mask, TOOL: tl.constexpr):
    if TOOL == PROTON:
        proton.enter_scope("load")
    state = edge(state, True, 0, TOOL)
    values = tl.load(source + offsets, mask)
    state = edge(state, False, 0, TOOL)
    if TOOL == PROTON:
        proton.exit_scope("load")
        proton.enter_scope("store")
    state = edge(state, True, 1, TOOL)
    tl.store(target + offsets, values, mask)
    state = edge(state, False, 1, TOOL)
    if TOOL == PROTON:
        proton.exit_scope("store")
    return state


@triton.jit
def copy(buffer, source, target, SIZE: tl.constexpr, TOOL: tl.constexpr):
    """A block per tile: each has a segment to claim for four records."""
    state = begin(buffer, TOOL)
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    copied_tile(state, source, target, offsets, None, TOOL)


@triton.jit
def copy_tilewise(buffer, source, target, count, SIZE: tl.constexpr, TOOL: tl.constexpr):
    """As many blocks as are on the GPU at once, tile by tile, and what is no whole tile in the end."""
    state = begin(buffer, TOOL)
    tiles = count // SIZE
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        offsets = tile * SIZE + tl.arange(0, SIZE)
        state = copied_tile(state, source, target, offsets, None, TOOL)
    if tl.program_id(0) == tl.num_programs(0) - 1:
        offsets = tiles * SIZE + tl.arange(0, SIZE)
        copied_tile(state, source, target, offsets, offsets < count, TOOL)


@triton.jit
def matmul(
    buffer,
    a,
    b,
    c,
    n,
    k,
    TOOL: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    state = begin(buffer, TOOL)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    a += rows[:, None] * k + depth[None, :]
    b += depth[:, None] * n + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for _ in range(0, k, DEPTH):
        if TOOL == PROTON:
            proton.enter_scope("load")
        state = edge(state, True, 0, TOOL)
        left = tl.load(a)
        right = tl.load(b)
        state = edge(state, False, 0, TOOL)
        if TOOL == PROTON:
            proton.exit_scope("load")
            proton.enter_scope("dot")
        state = edge(state, True, 1, TOOL)
        total = tl.dot(left, right, total)
        state = edge(state, False, 1, TOOL)
        if TOOL == PROTON:
            proton.exit_scope("dot")
        a += DEPTH
        b += DEPTH * n
    if TOOL == PROTON:
        proton.enter_scope("store")
    state = edge(state, True, 2, TOOL)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))
    state = edge(state, False, 2, TOOL)
    if TOOL == PROTON:
        proton.exit_scope("store")
