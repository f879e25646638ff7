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

#if RECORDS > 0 && !defined(KINETOGRAPH_ON_HOST)
// The same with the plainest records: no check of bounds, no loss that is counted, a constant for a tag.
extern "C" __global__ void least_sums(char* slot, const float* source, float* target, int count) {
    const unsigned leads = threadIdx.x == 0;
    float total = 0;
#pragma unroll 1
    for (int at = threadIdx.x; at < count; at += blockDim.x) {
        asm volatile(
            "{\n\t"
            ".reg .pred leads;\n\t"
            ".reg .u32 cycles, early, late;\n\t"
            ".reg .u64 time;\n\t"
            "setp.ne.u32 leads, %1, 0;\n\t"
            "mov.u32 cycles, %%clock;\n\t"
            "mov.u64 time, %%globaltimer;\n\t"
            "mov.b64 {early, late}, time;\n\t"
            "@leads st.global.v4.u32 [%0], {1, cycles, early, late};\n\t"
            "}" ::"l"(slot),
            "r"(leads)
            : "memory");
        total += source[at] * 2;
        asm volatile(
            "{\n\t"
            ".reg .pred leads;\n\t"
            ".reg .u32 cycles;\n\t"
            "setp.ne.u32 leads, %1, 0;\n\t"
            "mov.u32 cycles, %%clock;\n\t"
            "@leads st.global.v2.u32 [%0+16], {2, cycles};\n\t"
            "}" ::"l"(slot),
            "r"(leads)
            : "memory");
        slot += 32;
    }
    target[threadIdx.x] = total;
}
#endif

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
