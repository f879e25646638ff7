// Counters that are switched on: from opening to closing, with pauses between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collect/cupti/launch_log.h"
#include "collect/cupti/metric_devices.h"
#include "collect/cupti/metrics.h"

namespace kinetograph::collect::cupti {

// CUPTI is ours as long as this lives. Throws MetricRefusal if it is somebody else's, and MetricError.
class Subscription {
public:
    Subscription(const Cupti& cupti, const MetricFunctions& functions, bool sees_launches);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

private:
    const Cupti& cupti_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
};

// Counters have room for some hundred ranges: when they are full they are read, and begin anew.
class MetricSession {
public:
    // Throws MetricRefusal, MetricError and std::runtime_error; then nothing has changed.
    MetricSession(const Driver& driver, const Cupti& cupti, std::vector<MetricDevice> devices,
                  const MetricOptions& options);

    void resume();
    // Reads what the devices counted, and waits for them first, unless that would break a capture.
    void pause(bool may_wait);
    // What was read since the last time.
    void tell(record::ThreadBuffer& thread);
    void begin_range(std::string_view name);
    void end_range();

private:
    bool start();
    void read(const std::vector<Launch>& launches);
    void read_device(MetricDevice& device, const std::vector<Launch>& launches);
    void tell(record::ThreadBuffer& thread, MetricDevice& device);
    void fail(const char* what, const MetricError& error);

    const Driver& driver_;
    const RangeFunctions functions_;
    const bool per_kernel_;
    Subscription subscription_;  // before the devices, so that it goes after them
    CountersInUse counters_;
    std::vector<MetricDevice> devices_;
    bool is_counting_ = false, is_in_range_ = false;
    bool missed_running_ = false;      // what ran at the last pause
    std::vector<PushedRange> pushed_;  // since the counters began anew
    size_t first_pushed_ = 0;          // the number of the first of them
    std::string failure_;              // the first since the last pause
};

}  // namespace kinetograph::collect::cupti
