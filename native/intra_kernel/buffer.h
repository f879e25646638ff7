// A profiler buffer as bytes: its header checked, its segments found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "intra_kernel/segment.h"

namespace kinetograph::intra_kernel {

struct Segment {
    SegmentHeader header;
    std::span<const Slot> slots;
    uint32_t launch = 0;  // how many segments of the same grid, block and group were claimed before it
};

struct Buffer {
    std::vector<Segment> segments;  // in the order they were claimed
    uint64_t refused = 0;           // blocks that found no segment
    uint64_t damaged = 0;           // segments without a header, or beyond the end of the bytes
    bool is_known = false;          // it is a buffer of this version
};

// The segments point into `slots`.
Buffer find_segments(std::span<const Slot> slots);

}  // namespace kinetograph::intra_kernel
