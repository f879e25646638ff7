// The pauses of a session as they stand in its trace.
#pragma once

#include <cstdint>
#include <vector>

#include "record/recording.h"
#include "trace/row_writer.h"

namespace kinetograph::trace {

// Silence is not idleness: both ends of a pause are instants on a track of their own, which gets this tid if
// there is a pause at all. A note says how much time that was. False when there was none; else whoever calls
// sorts.
bool write_pauses(const record::Recording& recording, int64_t tid, RowWriter& rows);

struct Pause {
    int64_t begin_ns, end_ns;
};
// Those that stand in a trace.
std::vector<Pause> pauses_of(const Trace& trace);

}  // namespace kinetograph::trace
