// `max_depth` of a session: calls nested deeper than it wants, which others wanted, are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

struct DepthLimit {
    uint32_t max_depth = UINT32_MAX;
    // When its threads began to take part, in wall nanoseconds, ordered. A call that starts with one of these
    // was open before: it is shown, and does not count.
    std::vector<int64_t> begins;
};

DepthLimit depth_limit(uint32_t max_depth, const record::Recording& recording);

// Of an ordered trace without links. Linear.
void limit_call_depth(Trace& trace, const DepthLimit& limit);

}  // namespace kinetograph::trace
