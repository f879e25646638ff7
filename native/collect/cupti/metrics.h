// Hardware counters of GPUs, for one session at a time. Functions may be called from any thread, and may wait
// for the GPU: call them without the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/visibility.h"

namespace kinetograph::collect {

struct MetricOptions {
    std::vector<std::string> metrics;
    bool per_kernel = false;             // or per range, which the program begins and ends
    std::vector<std::string> libraries;  // where libcupti may be, as for start_cuda
};

// Hardware counters on a time grid, beside records of CUDA (collector.h).
struct SamplingOptions {
    std::vector<std::string> metrics;
    uint64_t interval_ns = 0;
};

// Numbers reach Python.
enum class MetricProblem : int {
    none = 0,
    no_context = 1,       // the program has not used CUDA yet
    in_use = 2,           // by another tool, or another session
    unsupported = 3,      // by this library or device
    unknown_metric = 4,   // see `metrics` and `candidates`
    too_many_passes = 5,  // see `metrics` and `passes`
    no_permission = 6,
};

struct MetricAnswer {
    MetricProblem problem = MetricProblem::none;
    std::string text = {};                                  // why, in words
    std::vector<std::string> metrics = {};                  // those that the problem is about
    std::vector<std::vector<std::string>> candidates = {};  // for each of them: names that begin alike
    std::vector<size_t> passes = {};                        // each of them alone
};

// Once, outside of any fork handler.
KINETOGRAPH_API void prepare_metrics();

// Switches the counters on, for all devices that the program uses. Without success nothing has changed.
KINETOGRAPH_API MetricAnswer open_metrics(const MetricOptions& options);
KINETOGRAPH_API void resume_metrics();
// Waits for the devices, if it may and no capture is seen, and tells what was counted as events of the
// calling thread's sessions.
KINETOGRAPH_API void pause_metrics(bool may_wait);
KINETOGRAPH_API void close_metrics();

// A range of the program, while one per range is counted; they do not nest.
KINETOGRAPH_API void begin_metric_range(std::string_view name);
KINETOGRAPH_API void end_metric_range();

}  // namespace kinetograph::collect
