// Folded stacks, which flame graph tools read: `outer;inner;innermost 1234`, a line for each path.
#pragma once

#include <cstdint>

#include "format/sink.h"
#include "trace/call_tree.h"

namespace kinetograph::format {

enum class FoldedMetric : uint8_t { self_host_time = 0, self_device_time = 1, calls = 2 };

// Times are whole microseconds; paths whose value is 0 are left out. Names are made such that they
// cannot end a frame or a line, nor begin a comment.
void write_folded(const trace::Trace& trace, const trace::CallTree& tree, FoldedMetric metric, Sink& sink);

}  // namespace kinetograph::format
