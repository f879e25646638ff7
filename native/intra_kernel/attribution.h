// Which kernel made which segment, by time, number of blocks and block.
//
// Times of segments are those of the globaltimer, times of kernels wall time. What lies between them follows
// from the kernels themselves; how, is told in `offset_fit.h`. Nothing here knows a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "intra_kernel/offset_fit.h"

namespace kinetograph::intra_kernel {

// A kernel as the trace has it.
struct KernelSpan {
    int64_t start_ns = 0, end_ns = 0;
    uint64_t blocks = 0;  // 0: not known, such as of a whole graph
    size_t row = 0;
};

// A segment, from when it was claimed to its last record.
struct SegmentSpan {
    int64_t first_ns = 0, last_ns = 0;
    uint64_t blocks = 0;
    uint64_t place = 0;   // block and group, in one number
    uint64_t launch = 0;  // those that probably were made by one launch share it
};

// The offset as it was measured at some moment.
struct MeasuredOffset {
    int64_t at_ns = 0;  // globaltimer
    int64_t offset_ns = 0, error_ns = 0;
};

struct Attribution {
    static constexpr uint32_t no_kernel = UINT32_MAX;
    std::vector<uint32_t> kernels;     // of each segment
    std::vector<OffsetBounds> bounds;  // of each kernel; one without segments leaves everything open
    std::optional<OffsetFit> fit;      // none where nothing tells the offset
    bool is_bounded = false;           // by kernels, not only measured
    bool is_guessed = false;           // that the last launch was the last kernel: others suit as well
    uint64_t doubtful = 0;             // segments that may as well be another kernel's
};

// `kernels` in the order of their start, `measured` in that of time.
Attribution attribute(std::span<const SegmentSpan> segments, std::span<const KernelSpan> kernels,
                      const std::vector<MeasuredOffset>& measured);

}  // namespace kinetograph::intra_kernel
