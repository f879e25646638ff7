// Which host event made a device do what, and for how long.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace kinetograph::trace {

// One row per event; all columns are empty when no track is a device's.
struct DeviceWork {
    Column<int32_t> launcher;  // of device work: the host row it counts for; -1 for all other rows
    Column<int64_t> self_ns;  // of a host event: the work it launched itself; of a device event: its duration
    Column<int64_t> total_ns;  // with the work that its children launched
};

// Kernels, copies and the like, but no annotations around them, no waiting and nothing inside a kernel:
// counting those would count the same time twice.
bool is_device_work(uint8_t category);

// Work counts for the innermost event around the launch that has its correlation id, also a Python function;
// where it is linked to an event that is not around that, or has no launch, for the one it is linked to. On a
// track without any work its annotations count instead: scopes that were timed by
// events.
DeviceWork attribute_device_work(const Trace& trace, const Nesting& nesting);

// Each row with the rows below it: `self` summed up along the parents.
Column<int64_t> with_children(const Nesting& nesting, const Column<int64_t>& self);

}  // namespace kinetograph::trace
