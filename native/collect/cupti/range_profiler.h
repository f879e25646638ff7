// Counts in one CUDA context: once for each kernel, which CUPTI runs again and again until all metrics are
// there, or once for each range that the program pushes and pops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/cupti/metric_host.h"

namespace kinetograph::collect::cupti {

struct CountedRange {
    std::string name;  // as pushed, or a number
    std::vector<double> values;
};

class RangeProfiler {
public:
    // Switches counters on for the context, which costs the program time from now on. Throws MetricError, as
    // all that follows. `host` has chosen its metrics, and outlives this.
    RangeProfiler(const RangeFunctions& functions, const MetricHost& host, CUcontext context,
                  bool per_kernel);
    ~RangeProfiler();
    RangeProfiler(const RangeProfiler&) = delete;
    RangeProfiler& operator=(const RangeProfiler&) = delete;

    void start();
    // What was counted since `start`, in order.
    std::vector<CountedRange> stop();
    // Only of ranges of the program, and one at a time.
    void push(const char* name);
    void pop();
    // So many are counted between start and stop; for more there is no room, and CUPTI does not say so.
    size_t most_ranges() const { return most_ranges_; }

private:
    void check(const char* function, CUptiResult result) const { cupti::check(functions_, function, result); }
    size_t data_bytes(size_t ranges) const;
    void configure();
    std::vector<CountedRange> read() const;

    const RangeFunctions& functions_;
    const MetricHost& host_;
    const bool per_kernel_;
    CUpti_RangeProfiler_Object* profiler_ = nullptr;
    size_t most_ranges_ = 0;
    std::vector<uint8_t> counter_data_;
};

}  // namespace kinetograph::collect::cupti
