// A recording that began a little early, so as not to begin late.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "record/recording.h"

namespace kinetograph::trace {

// Leaves out what happened before this wall time; what was open then begins with it.
inline void begin_at(record::Recording& recording, int64_t wall_ns) {
    const int64_t early_ns = wall_ns - recording.clock.to_wall_ns(recording.window.begin);
    if (early_ns <= 0) return;
    const uint64_t early_ticks = uint64_t(double(early_ns) / recording.clock.ns_per_tick());
    const uint64_t begin = std::min(recording.window.begin + early_ticks, recording.window.end);
    recording.window.begin = begin;
    for (record::ThreadRecording& thread : recording.threads) {
        std::erase_if(thread.windows, [&](const record::Window& window) { return window.end < begin; });
        for (record::Window& window : thread.windows) window.begin = std::max(window.begin, begin);
    }
}

}  // namespace kinetograph::trace
