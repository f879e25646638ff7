// What a trace says of its recording: losses, doubts, its cost.
#pragma once

#include <cstddef>

#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

struct LeftOut {
    size_t damaged = 0;   // events that made no sense
    size_t brief = 0;     // calls that were recorded for a session that wanted shorter ones
    size_t doubtful = 0;  // not left out, but perhaps at the wrong task
};

// `scope_cost_ns` is 0 where nobody measured what an event costs.
void add_notes(const record::Recording& recording, const LeftOut& left_out, double scope_cost_ns,
               Trace& trace);

}  // namespace kinetograph::trace
