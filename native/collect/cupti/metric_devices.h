// The devices that the program uses, with counters switched on for each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/cupti/library.h"
#include "collect/cupti/range_events.h"
#include "collect/cupti/range_profiler.h"

namespace kinetograph::collect::cupti {

// A primary context that the program has made, held so that it stays while its device counts.
class HeldContext {
public:
    HeldContext(const Driver& driver, CUdevice device, CUcontext context)
        : driver_(driver), device_(device), context_(context) {}
    ~HeldContext() { driver_.release_primary_context(device_); }
    HeldContext(const HeldContext&) = delete;
    HeldContext& operator=(const HeldContext&) = delete;
    CUcontext get() const { return context_; }

private:
    const Driver& driver_;
    CUdevice device_;
    CUcontext context_;
};

struct MetricDevice {
    int32_t index = 0;
    std::unique_ptr<HeldContext> context;
    std::unique_ptr<MetricHost> host = {};
    std::unique_ptr<RangeProfiler> profiler = {};
    std::vector<RangeEvent> events = {};  // that are not told yet
    size_t missing = 0;                   // what CUPTI gave no values for
    size_t surplus = 0;                   // values of what was not seen to be launched
};

// Those with a primary context; none is made.
std::vector<MetricDevice> find_used_devices(const Driver& driver);

// Throws MetricError. After cuptiProfilerInitialize only: some versions crash before.
std::string chip_of(const MetricFunctions& functions, int32_t device);

}  // namespace kinetograph::collect::cupti
