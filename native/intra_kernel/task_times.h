// What the tasks of kernels took, of a trace that holds records from inside them: for summaries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::intra_kernel {

// The ranges of one name in the launches of one kernel.
struct TaskTimes {
    std::string kernel;  // "" where it is not known
    std::string task;
    uint64_t count = 0;
    int64_t total_ns = 0, p50_ns = 0, p99_ns = 0;
    double share = 0;      // of the time of its kernel's blocks, from their first record to their last
    double imbalance = 1;  // the SM that had most of it, over the mean of all SMs of the launch
    int64_t tail_ns = 0;   // how long an SM, on average, had no more of it before the last one ended
    double recording = 0;  // share of the time of the kernel's blocks that recording took, estimated
};

// Linear in the events, and a sort of the durations of each task.
std::vector<TaskTimes> task_times(const trace::Trace& trace);

}  // namespace kinetograph::intra_kernel
