// Kernels with records in them. With `RECORDS` of 0 the profiler is off; with less, they know of none.
#if RECORDS >= 0
#ifndef KINETOGRAPH_INTRA_KERNEL_CUH  // its text may stand before
#include <kinetograph/intra_kernel.cuh>
#endif
#define RECORDED(statement) statement
#else
#define RECORDED(statement)
#endif

// Of every kind of record one, and some in a loop. In `kernels.py` and `numba_kernels.py` the same.
extern "C" __global__ void steps(void* buffer, const float* source, float* target, int task) {
    RECORDED(kinetograph::Profiler<(RECORDS > 0)> profiler(buffer));
    RECORDED(profiler.record(true, task));
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    float value = source[at];
    RECORDED(profiler.mark(2, kinetograph::None(), value));
#pragma unroll 1
    for (int step = 0; step < 3; ++step) {
        RECORDED(profiler.record(true, 1, step));
        value *= 2;
        RECORDED(profiler.record(false, 1));
    }
    target[at] = value;
    RECORDED(profiler.mark(3, blockIdx.x));
    RECORDED(profiler.record(false, task, 0.5f));
}

extern "C" __global__ void sums(void* buffer, const float* source, float* target, int count) {
    RECORDED(kinetograph::Profiler<(RECORDS > 0)> profiler(buffer));
    float total = 0;
#pragma unroll 1
    for (int at = threadIdx.x; at < count; at += blockDim.x) {
        RECORDED(kinetograph::Scope<(RECORDS > 0)> adding(profiler, 1));
        total += source[at] * 2;
    }
    target[threadIdx.x] = total;
}

#if RECORDS > 0
extern "C" __global__ void warps(void* buffer, const float*, float*, int task) {
    auto profiler = kinetograph::Profiler<>::per_warp(buffer);
    kinetograph::Scope<> working(profiler, task);
    profiler.mark(1, threadIdx.x);
}

extern "C" __global__ void numbers(void* buffer, const float*, float*, int task) {
    kinetograph::Profiler<> profiler(buffer, 1, 2, threadIdx.x == 0);
    profiler.mark(task, -1);
    profiler.mark(task, 4000000000u);
    profiler.mark(task, -5000000000ll);
    profiler.mark(task, 'A');
    profiler.mark(task, 0.25);
    profiler.mark(task, 7, 8.5f);
    profiler.mark(task, kinetograph::None(), 9);
    profiler.mark(task + 2048);
}
#endif
