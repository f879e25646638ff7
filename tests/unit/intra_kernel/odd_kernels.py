"""Kernels that use the profiler in rare ways, or wrong ones. All take a buffer, floats and a number."""

import triton
import triton.language as tl

from kinetograph.intra_kernel.triton import Profiler, tid


@triton.jit
def first_thread_leads(buffer, source, number):
    profiler = Profiler.create(buffer)
    profiler = profiler.mark(0, payload=None)


@triton.jit
def nobody_leads(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=False)
    profiler = profiler.mark(0)


@triton.jit
def leader_by_values(buffer, source, number):
    is_first = (tid(0).to(tl.int64) == 0) & (tid(1) == 0) & (tid(2) == 0)
    profiler = Profiler.create(buffer, is_leader=is_first)
    profiler = profiler.mark(0, payload=tid(0) + 7)


@triton.jit
def marked(profiler, number):
    if number > 2:
        profiler = profiler.mark(1)
    else:
        profiler = profiler.mark(2)
    return profiler


@triton.jit
def in_branches(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = marked(profiler, number)
    if number > 5:
        return
    profiler = profiler.mark(3)


@triton.jit(noinline=True)
def apart(profiler, number):
    return profiler.mark(4, payload=number)


@triton.jit
def in_functions(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = apart(profiler, number)
    state = (profiler, number)
    for _ in range(3):
        state = (state[0].mark(5), state[1] + 1)
    profiler = state[0].mark(6, payload=state[1])


@triton.jit
def one_range(buffer, source, number):
    profiler = Profiler.create(buffer)
    profiler = profiler.record(True, 0)
    profiler = profiler.record(False, 0)


@triton.jit
def after_all_types(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    values = tl.load(source + tl.arange(0, 64))
    profiler = profiler.mark(0, after=values)
    profiler = profiler.mark(1, after=values.to(tl.float16))
    profiler = profiler.mark(2, after=values > 0)
    profiler = profiler.mark(3, after=values.to(tl.int64))
    profiler = profiler.mark(4, after=tl.sum(values))
    profiler = profiler.mark(5, after=(values, number))
    profiler = profiler.mark(6, after=True)


@triton.jit
def all_payloads(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.mark(0, payload=-1, after=None)
    profiler = profiler.mark(1, payload=-(2**63))
    profiler = profiler.mark(2, payload=1e300)
    profiler = profiler.mark(3, payload=float("nan"))
    profiler = profiler.mark(4, payload=number.to(tl.float64) * -1e300)
    profiler = profiler.mark(5, payload=number > 2)
    profiler = profiler.mark(6, payload=number.to(tl.float16))
    profiler = profiler.mark(7, payload=number.to(tl.uint64))


@triton.jit
def payload_of_several(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.mark(0, payload=tl.load(source + tl.arange(0, 64)))


@triton.jit
def task_too_large(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.mark(2048)


@triton.jit
def start_by_value(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.record(number > 2, 0)


@triton.jit
def groups_too_many(buffer, source, number):
    profiler = Profiler.create(buffer, 0, 256, is_leader=(tid(0) == 0))
    profiler = profiler.mark(0)


@triton.jit
def task_by_name(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.mark("load")


@triton.jit
def task_with_fraction(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.mark(number.to(tl.float32))


@triton.jit
def tasks_of_several(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.mark(tl.arange(0, 32))


@triton.jit
def leaders_of_several(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tl.arange(0, 32) == 0))
    profiler = profiler.mark(0)


@triton.jit
def number_as_buffer(buffer, source, number):
    profiler = Profiler.create(number, is_leader=(tid(0) == 0))
    profiler = profiler.mark(0)


@triton.jit
def no_buffer(buffer, source, number):
    profiler = Profiler.create(None, is_leader=(tid(0) == 0))
    profiler = profiler.mark(0)


@triton.jit
def fourth_axis(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(3) == 0))
    profiler = profiler.mark(0)


@triton.jit
def enabled_by_value(buffer, source, number):
    profiler = Profiler.create(buffer, ENABLE_PROFILING=number)
    profiler = profiler.mark(0)


@triton.jit
def groups_by_value(buffer, source, number):
    profiler = Profiler.create(buffer, 0, number)
    profiler = profiler.mark(0)


@triton.jit
def small_numbers(buffer, source, number):
    profiler = Profiler.create(buffer, number.to(tl.int8), 8, is_leader=(tid(0) == 0))
    profiler = profiler.mark(number.to(tl.int8), after=[number, 7])
    profiler = profiler.mark(number.to(tl.int64))
