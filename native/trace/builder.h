// From a recording (raw records by thread, in the order they ended) to a Trace (columns by track, by start).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

// What a session asked for. Overlapping sessions record what any of them wants, and each leaves out here what
// only the others do.
struct Wanted {
    uint64_t categories = ~uint64_t(0);  // bit per Category
    uint32_t scopes = 0;                 // bit per RecordScope of spans; 0: all
    bool input_shapes = true;            // of events with flag_input_shapes, and of operators
    bool flops = true;                   // of operators
    bool stacks = true;                  // of events with flag_stack
    bool samples = true;                 // sampled Python stacks; the category is for traced calls
    bool device_work = true;             // what collectors of devices tell, not what programs report
    bool device_waits = true;            // of that, waiting for streams and events
    bool device_memory = true;           // and allocations
    bool whole_graphs = false;           // one event for each launch of a graph, not for each of its nodes
    bool timed_scopes = true;            // scopes timed by events on a device
};

// Of Python calls, where several sessions want different ones.
struct WantedCalls {
    bool functions = true;
    bool garbage = true;  // runs of the garbage collector
    bool objects = true;  // calls that are named by object, also those that the rest of this leaves out
    bool builtins = true;
    bool lines = true;
    int64_t shortest_ns = 0;
    std::function<bool(uint32_t)> by_name;  // asked once per name of the recorder; empty: all
};

struct BuildOptions {
    Wanted wanted;
    WantedCalls calls;
    double scope_cost_ns = 0;
    // Brings the text of arguments to the form a Trace keeps, without the members named in `left_out`; false
    // when it is no JSON. They come from foreign code and from files of dead processes, and one bad text
    // would spoil every file this trace is written to.
    bool (*clean_members)(std::string_view text, std::span<const std::string_view> left_out,
                          std::string& clean) = nullptr;
};

// Linear. Needs a few bytes per event besides the columns; beyond the recording's memory limit columns live
// in a file.
Trace build_trace(record::Recording&& recording, const BuildOptions& options = {});

}  // namespace kinetograph::trace
