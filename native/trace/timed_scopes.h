// Scopes that were timed on a device, by events around them, and not by the work in between.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::trace {

// A moment just before the scope began on the host.
struct TimedScope {
    int32_t tid = 0;
    int64_t before_ns = 0;
};

// Ties each gpu_user_annotation whose correlation is -n to the scope of its name that scopes[n - 1] tells of,
// and takes that correlation away. Needs an ordered trace. `track_of` gives the track of a thread, or -1.
void link_timed_scopes(Trace& trace, const std::vector<TimedScope>& scopes,
                       const std::function<int32_t(int32_t tid)>& track_of);

}  // namespace kinetograph::trace
