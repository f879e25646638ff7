// Cutting events to what a session saw.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "record/recording.h"

namespace kinetograph::trace {

// One event as it will stand in the trace, times still in ticks.
struct Clipped {
    uint64_t start;
    uint64_t end;
    uint8_t flags;
};

// [start, end] cut to the windows it touches, from the begin of the first to the end of the last; false when
// it touches none. A thread that left and came back, or was paused, has several: in order, none touching
// another.
inline bool clip(uint64_t start, uint64_t end, uint8_t flags, const std::vector<record::Window>& windows,
                 Clipped& clipped) {
    const auto first = std::partition_point(windows.begin(), windows.end(),
                                            [&](const record::Window& window) { return window.end < start; });
    const auto behind = std::partition_point(
        first, windows.end(), [&](const record::Window& window) { return window.begin <= end; });
    if (first == behind) return false;
    const uint64_t last_end = std::prev(behind)->end;
    const bool outlives = end > last_end;
    clipped = {std::max(start, first->begin), std::min(end, last_end),
               uint8_t(outlives ? flags | record::flag_unfinished : flags)};
    return true;
}

}  // namespace kinetograph::trace
