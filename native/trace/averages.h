// Counts and times of the spans of a trace, put together by name: what `key_averages` answers.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/device_work.h"
#include "trace/trace.h"

namespace kinetograph::trace {

struct AverageOptions {
    bool by_shapes = false;    // tell apart spans of other input shapes
    bool by_overload = false;  // and those of other overloads of an operator
    uint32_t stack_frames =
        0;  // and those that were called from elsewhere: this many innermost Python frames
    bool with_python =
        false;  // count Python functions; otherwise their time belongs to the event around them
};

// The spans of one name, category and kind of device. All fields are int64_t: Python sees a matrix of them.
struct Average {
    int64_t row;        // the earliest span, which tells what all have in common
    int64_t count;      // calls: later runs of a generator belong to its call
    int64_t outermost;  // spans with no other around them
    int64_t total_ns;   // a span inside another of the same group is in there already
    int64_t self_ns;
    int64_t min_ns, max_ns;  // of single spans
    int64_t device_total_ns, self_device_ns;
    int64_t host_bytes, self_host_bytes;
    int64_t device_bytes, self_device_bytes;
    int64_t flops;
};
inline constexpr size_t average_fields = 14;
static_assert(sizeof(Average) == average_fields * sizeof(int64_t));

struct Averages {
    std::vector<Average> groups;  // in the order of their first spans
    // The Python functions that were left out: how many, how often called, and the time in them that no
    // other event covers.
    int64_t python_functions = 0;
    int64_t python_calls = 0;
    int64_t python_ns = 0;
};

// Linear; needs a few bytes per event besides its arguments.
//
// An operator that is the only child of an operator of the same name is the same call, dispatched again.
// Everything else that calls itself is counted each time, but its total time only once.
Averages average(const Trace& trace, const Nesting& nesting, const DeviceWork& work,
                 const AverageOptions& options);

}  // namespace kinetograph::trace
