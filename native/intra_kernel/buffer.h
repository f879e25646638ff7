// A profiler buffer as bytes: its header checked, its segments found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "intra_kernel/segment.h"
#include "intra_kernel/segment_clock.h"

namespace kinetograph::intra_kernel {

struct Segment {
    SegmentHeader header;
    std::span<const Slot> slots;
    uint32_t launch = 0;  // how many began before it, as far as grids, blocks and groups tell them apart
};

struct Buffer {
    std::vector<Segment> segments;  // in the order they were claimed
    uint64_t refused = 0;           // blocks that found no segment
    uint64_t damaged = 0;           // segments without a header, or beyond the end of the bytes
    bool is_known = false;          // it is a buffer of this version
    double clock_rate = 0;          // cycles per nanosecond, as the device tells; 0: unknown
};

// The segments point into `slots`.
Buffer find_segments(std::span<const Slot> slots);

// The bytes as slots; copied where they do not lie as slots must.
std::span<const Slot> aligned_slots(std::span<const std::byte> bytes, std::vector<Slot>& copy);

ClockPair claimed(const Segment& segment);
// At all pairs of clocks in it. They count for others when the finder is told that it has ended.
void look_at_clocks(const Segment& segment, RateFinder& rates);
// What the clocks of all its segments tell together.
RateFinder rates_of(const Buffer& buffer);
// "block 7", or "block 7 group 1".
std::string block_name(const SegmentHeader& header);

}  // namespace kinetograph::intra_kernel
