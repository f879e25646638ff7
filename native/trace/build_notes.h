// What a trace says of its recording: losses, doubts of the clock, its cost.
#pragma once

#include <cstddef>

#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

// `damaged` events made no sense; `scope_cost_ns` is 0 where nobody measured what an event costs.
void add_notes(const record::Recording& recording, size_t damaged, double scope_cost_ns, Trace& trace);

}  // namespace kinetograph::trace
