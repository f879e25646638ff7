"""Where does a causal attention kernel lose its time? Needs a GPU, PyTorch and Triton.

Each block computes a stretch of rows, and rows attend to what is before them: the last stretch has the most
to do. Three orders of the same blocks, looked at from inside.
"""

import statistics

import torch
import triton
import triton.language as tl

import kinetograph as kg
from kinetograph.intra_kernel.triton import Profiler, ProfilerBuffer, reset_profiler_buffer, tid

HEADS, LENGTH, WIDTH = 32, 4096, 64
ROWS, COLUMNS = 128, 64
ORDERS = {"rows of a head, then the next head": 0, "short rows of all heads first": 1, "long rows first": 2}
TASKS = ["block", "scores", "softmax", "values"]
NO_RECORDS, BLOCKS, STEPS = range(3)


@triton.jit
def attention(
    buffer,
    queries,
    keys,
    values,
    result,
    scale,
    LENGTH: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    ORDER: tl.constexpr,
    DETAIL: tl.constexpr,
):
    profiler = Profiler.create(buffer, 0, 1, is_leader=(tid(0) == 0), ENABLE_PROFILING=DETAIL > 0)
    profiler = profiler.record(is_start=True, task_type=0)
    stretches: tl.constexpr = LENGTH // ROWS
    if ORDER == 0:
        head, stretch = tl.program_id(0) // stretches, tl.program_id(0) % stretches
    else:
        heads = tl.num_programs(0) // stretches
        head, stretch = tl.program_id(0) % heads, tl.program_id(0) // heads
        if ORDER == 2:
            stretch = stretches - 1 - stretch
    rows = stretch * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    depth = tl.arange(0, WIDTH)
    base = head.to(tl.int64) * LENGTH * WIDTH
    query = tl.load(queries + base + rows[:, None] * WIDTH + depth[None, :])
    key_pointers = keys + base + columns[None, :] * WIDTH + depth[:, None]
    value_pointers = values + base + columns[:, None] * WIDTH + depth[None, :]
    highest = tl.full((ROWS,), float("-inf"), tl.float32)
    norm = tl.zeros((ROWS,), tl.float32)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(0, (stretch + 1) * ROWS, COLUMNS):
        if DETAIL > 1:
            profiler = profiler.record(is_start=True, task_type=1)
        scores = tl.dot(query, tl.load(key_pointers)) * scale
        if DETAIL > 1:
            profiler = profiler.record(is_start=False, task_type=1)
            profiler = profiler.record(is_start=True, task_type=2)
        scores = tl.where(rows[:, None] >= start + columns[None, :], scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        fade = tl.exp2(highest - higher)
        norm = norm * fade + tl.sum(weights, 1)
        if DETAIL > 1:
            profiler = profiler.record(is_start=False, task_type=2)
            profiler = profiler.record(is_start=True, task_type=3)
        total = tl.dot(weights.to(tl.float16), tl.load(value_pointers), total * fade[:, None])
        if DETAIL > 1:
            profiler = profiler.record(is_start=False, task_type=3)
        highest = higher
        key_pointers += COLUMNS * WIDTH
        value_pointers += COLUMNS * WIDTH
    out = result + base + rows[:, None] * WIDTH + depth[None, :]
    tl.store(out, (total / norm[:, None]).to(tl.float16))
    profiler = profiler.record(is_start=False, task_type=0)


def launch(buffer, tensors, order, detail):
    blocks = HEADS * LENGTH // ROWS
    scale = WIDTH**-0.5 * 1.4426950408889634  # for powers of two
    sizes = {"LENGTH": LENGTH, "WIDTH": WIDTH, "ROWS": ROWS, "COLUMNS": COLUMNS}
    attention[(blocks,)](
        buffer, *tensors, scale, **sizes, ORDER=order, DETAIL=detail, num_warps=8, num_stages=2
    )


def microseconds(buffer, tensors, order, detail):
    reset_profiler_buffer(buffer)
    launch(buffer, tensors, order, detail)
    with kg.profile(activities=["cuda"]) as session:
        for _ in range(20):
            launch(buffer, tensors, order, detail)
        torch.cuda.synchronize()
    taken = [event.duration_ns for event in session.trace.events if event.name == "attention"]
    return statistics.median(taken) / 1e3


def main():
    tensors = [torch.randn(HEADS, LENGTH, WIDTH, device="cuda", dtype=torch.float16) for _ in range(3)]
    tensors.append(torch.empty_like(tensors[0]))
    recorded = ProfilerBuffer(1 << 24, "attention", TASKS, slots_per_segment=512)
    for text, order in ORDERS.items():
        with recorded as buffer:
            launch(buffer, tensors, order, STEPS)
        plain, blocks, steps = (microseconds(buffer, tensors, order, detail) for detail in range(3))
        print(f"{text}: {plain:.1f} us; with a range per block {blocks:.1f}, three per step {steps:.1f}")
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors[:3], is_causal=True)
    torch.testing.assert_close(tensors[3], expected, rtol=0.01, atol=0.01)


if __name__ == "__main__":
    main()
