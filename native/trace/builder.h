// From a recording (raw records by thread, in the order they ended) to a Trace (columns by track, by start).
#pragma once

#include <cstdint>

#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

struct BuildOptions {
    uint32_t scopes = 0;  // bit per RecordScope that is wanted; 0: all
    double scope_cost_ns = 0;
};

// Linear. Needs a few bytes per event besides the columns; beyond the recording's memory limit columns live in a file.
Trace build_trace(record::Recording&& recording, const BuildOptions& options = {});

}  // namespace kinetograph::trace
