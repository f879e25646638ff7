// How much memory each span took and gave back, where allocations were recorded.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace kinetograph::trace {

// One row per event, without what its children took; empty when no allocation was recorded.
struct MemoryUse {
    Column<int64_t> host_bytes;
    Column<int64_t> device_bytes;
};

// Each allocation counts for the innermost span around it on its thread.
MemoryUse attribute_memory(const Trace& trace, const Nesting& nesting);

}  // namespace kinetograph::trace
