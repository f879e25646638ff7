// The kernels of `kernels.cu` on the CPU: a GPU with one SM, whose threads run one after the other.
#include <cstdint>
#include <cstring>
#include <type_traits>

#define KINETOGRAPH_ON_HOST
#define RECORDS 1
#define __device__
#define __global__
#define __forceinline__ inline

struct Place {
    unsigned x = 0, y = 0, z = 0;
};
static Place threadIdx, blockIdx, blockDim, gridDim;

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

namespace kinetograph {
struct Target;
namespace device {
unsigned clock();
unsigned long long globaltimer();
unsigned sm() {
    return 0;
}
unsigned long long claim(unsigned long long* counter) {
    return (*counter)++;
}
void store_stamp(Target to, unsigned sum);
void store_clock(Target to, unsigned sum);
void store_value(Target to, unsigned sum, unsigned long long value);
}  // namespace device
}  // namespace kinetograph

#include "kernels.cu"

static_assert(!std::is_copy_constructible_v<kinetograph::Profiler<true>>);
static_assert(!std::is_copy_constructible_v<kinetograph::Profiler<false>>);

namespace kinetograph::device {

// Each look at it takes 100 ns, and a cycle one: no two records are of one time.
unsigned long long globaltimer() {
    static unsigned long long now = 1'000'000;
    return now += 100;
}

unsigned clock() {
    return unsigned(globaltimer());
}

static void store(Target to, const void* words, size_t size) {
    if (to.leads) std::memcpy(reinterpret_cast<void*>(to.low | uintptr_t(to.high) << 32), words, size);
}

void store_stamp(Target to, unsigned sum) {
    const unsigned long long now = globaltimer();
    const unsigned words[] = {sum, unsigned(now), unsigned(now), unsigned(now >> 32)};
    store(to, words, 16);
}

void store_clock(Target to, unsigned sum) {
    const unsigned words[] = {sum, clock()};
    store(to, words, 8);
}

void store_value(Target to, unsigned sum, unsigned long long value) {
    const unsigned words[] = {sum, 0, unsigned(value), unsigned(value >> 32)};
    store(to, words, 16);
}

}  // namespace kinetograph::device

using Kernel = void(void*, const float*, float*, int);

static void launch(Kernel* kernel, int blocks, int threads, void* buffer, const float* source, float* target,
                   int number) {
    gridDim = {unsigned(blocks), 1, 1};
    blockDim = {unsigned(threads), 1, 1};
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(buffer, source, target, number);
}

#define LAUNCH(name)                                                                                         \
    extern "C" void launch_##name(int blocks, int threads, void* buffer, const float* source, float* target, \
                                  int number) {                                                              \
        launch(name, blocks, threads, buffer, source, target, number);                                       \
    }
LAUNCH(steps)
LAUNCH(sums)
LAUNCH(warps)
LAUNCH(numbers)
