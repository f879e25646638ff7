// From a recording (raw records by thread, in the order they ended) to a Trace (columns by track, by start).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

struct BuildOptions {
    uint32_t scopes = 0;  // bit per RecordScope that is wanted; 0: all
    // What another session may have asked for:
    bool calls = true;    // traced Python calls
    bool samples = true;  // sampled Python stacks
    double scope_cost_ns = 0;
    // Brings the text of arguments to the form a Trace keeps; false when it is no JSON. They come from
    // foreign code and from files of dead processes, and one bad text would spoil every file this trace is
    // written to.
    bool (*clean_members)(std::string_view text, std::string& clean) = nullptr;
};

// Linear. Needs a few bytes per event besides the columns; beyond the recording's memory limit columns live
// in a file.
Trace build_trace(record::Recording&& recording, const BuildOptions& options = {});

}  // namespace kinetograph::trace
