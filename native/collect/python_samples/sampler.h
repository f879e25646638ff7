// Takes the stacks of all Python threads so many times a second, from a thread of its own that has no part in
// Python: it never takes the GIL, stops nobody and follows no pointer of the interpreter.
//
// One sampler serves all sessions that want samples.
#pragma once

#include <cstdint>

#include "collect/python_names/filter.h"

namespace kinetograph::collect {

struct SampleOptions {
    CallFilter filter;
    uint32_t max_depth = UINT32_MAX;  // functions from the outermost
    uint32_t hz = 100;
};

// Since the process began. Sessions tell their own part by what these were when they started.
struct SampleCounts {
    uint64_t rounds = 0;    // looks at all threads
    uint64_t stacks = 0;    // that were recorded
    uint64_t torn = 0;      // that changed while they were read, twice
    uint64_t too_deep = 0;  // that had more frames than are followed
    uint64_t missed = 0;    // rounds that came so late that the next was due
    int64_t cpu_ns = 0;     // what the sampler's thread has used
};

// Begin, or go on by other rules. Needs the GIL; false with a Python exception set. Throws std::runtime_error
// with the reason when memory cannot be read here, or this Python lays it out in another way.
bool start_sampling(const SampleOptions& options);
// Waits for the thread to end. Call it without the GIL, and never from two threads at once.
void stop_sampling();

SampleCounts sample_counts();

}  // namespace kinetograph::collect
