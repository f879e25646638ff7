#include "collect/cupti/record_sizes.h"

namespace kinetograph::collect::cupti {

namespace {

// Versions as cuptiGetVersion tells them.
constexpr uint32_t cuda_12_3 = 21, cuda_12_4 = 22, cuda_12_5 = 23, cuda_12_6 = 24, cuda_12_8 = 26;
constexpr uint32_t cuda_13_0 = 130000, cuda_13_1 = 130100, cuda_13_2 = 130200, cuda_13_3 = 130300,
                   cuda_13_4 = 130400;
// From here on they may be longer than those we know: to go by the table would be to read names where there
// are none.
constexpr uint32_t not_known_yet = 130500;

constexpr uint16_t ask_the_library = 0;

// A record of `kind` has `bytes` from `version` on. Up to 13.1 libraries have confirmed it; see the test of
// it.
struct Change {
    CUpti_ActivityKind kind;
    uint32_t version;
    uint16_t bytes;
};

constexpr Change changes[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, 0, 88},
    {CUPTI_ACTIVITY_KIND_MEMCPY, cuda_12_8, 96},
    {CUPTI_ACTIVITY_KIND_MEMCPY, cuda_13_4, 112},
    {CUPTI_ACTIVITY_KIND_MEMSET, 0, 88},
    {CUPTI_ACTIVITY_KIND_MEMSET, cuda_13_4, 104},
    {CUPTI_ACTIVITY_KIND_DRIVER, 0, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 0, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, 0, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_KERNEL, 0, 208},
    {CUPTI_ACTIVITY_KIND_KERNEL, cuda_13_0, 216},
    {CUPTI_ACTIVITY_KIND_KERNEL, cuda_13_1, 224},
    {CUPTI_ACTIVITY_KIND_KERNEL, cuda_13_3, 232},
    {CUPTI_ACTIVITY_KIND_KERNEL, cuda_13_4, 248},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, 208},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, cuda_13_0, 216},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, cuda_13_1, 224},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, cuda_13_3, 232},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, cuda_13_4, 248},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 0, 40},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, cuda_12_3, 48},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, cuda_12_4, 56},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0, 40},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, cuda_12_8, 56},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0, sizeof(CUpti_ActivityExternalCorrelation)},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0, 48},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, cuda_12_3, 56},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, 0, 96},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, cuda_13_2, ask_the_library},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 0, 16},
    {CUPTI_ACTIVITY_KIND_CONTEXT, cuda_12_4, 24},
    {CUPTI_ACTIVITY_KIND_CONTEXT, cuda_12_5, 32},
    {CUPTI_ACTIVITY_KIND_CONTEXT, cuda_13_1, 40},
    {CUPTI_ACTIVITY_KIND_CONTEXT, cuda_13_2, ask_the_library},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0, 24},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, cuda_12_8, 56},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, cuda_13_2, ask_the_library},
    {CUPTI_ACTIVITY_KIND_JIT, 0, 64},
    {CUPTI_ACTIVITY_KIND_JIT, cuda_12_4, 72},
    {CUPTI_ACTIVITY_KIND_JIT, cuda_13_2, ask_the_library},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 0, 120},
    {CUPTI_ACTIVITY_KIND_MEMORY2, cuda_12_6, 128},
};

}  // namespace

// What is not in the table is asked of the library when it comes; see walker.h.
RecordSizes::RecordSizes(uint32_t version) {
    if (version >= not_known_yet) return;
    for (const Change& change : changes)
        if (version >= change.version) sizes_[change.kind] = change.bytes;
}

}  // namespace kinetograph::collect::cupti
