// Counters of one device on a time grid: the device reads them itself every so many nanoseconds, beside
// whatever runs on it, into a buffer that has to be emptied in time (CUPTI calls it PM sampling).
//
// One thread at a time uses it. CUPTI must have been taken up, and CountersInUse. Memory is bounded: CUPTI's
// buffer, and an image of what was read of it, for as many samples as come while a reader is late.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/cupti/clock_map.h"
#include "collect/cupti/metric_host.h"

namespace kinetograph::collect::cupti {

struct CounterSample {
    uint64_t start, end;         // ticks
    std::vector<double> values;  // of the metrics, in their order
};

// Since it was last asked.
struct SamplingLosses {
    uint64_t samples = 0;    // that nobody has read in time
    uint64_t overflows = 0;  // after which sampling had to begin anew
};

// Which counters the device has now, for `Chip::available`. Fails while somebody counts there.
std::vector<uint8_t> available_counters(const SamplingFunctions& functions, int32_t device);

class PmSampler {
public:
    // Switches sampling on for the device. Throws MetricError, as all that follows. `host` has chosen its
    // metrics, which take one pass, and outlives this.
    PmSampler(const SamplingFunctions& functions, const MetricHost& host, int32_t device,
              uint64_t interval_ns);
    ~PmSampler();
    PmSampler(const PmSampler&) = delete;
    PmSampler& operator=(const PmSampler&) = delete;

    void start();
    void stop();
    // What the device has sampled since the last time, oldest first. Also once after `stop`.
    std::vector<CounterSample> read();
    SamplingLosses take_losses();
    // How often to read, so that nothing is lost even if it is done some times too late.
    static int period_ms(uint64_t interval_ns);

private:
    void check(const char* function, CUptiResult result) const { cupti::check(functions_, function, result); }
    void enable();
    void disable();
    void configure();
    void make_image();
    void clear_image();
    bool decode(std::vector<CounterSample>& samples);
    void begin_anew();
    size_t completed() const;
    void add_sample(size_t index, std::vector<CounterSample>& samples);
    bool covers_time(const CounterSample& sample);

    const SamplingFunctions& functions_;
    const MetricHost& host_;
    const int32_t device_;
    const uint64_t interval_ns_;
    CUpti_PmSampling_Object* sampler_ = nullptr;  // null after it could not be switched on again
    bool is_sampling_ = false;
    std::vector<uint8_t> image_;
    ClockMap clock_;
    uint64_t started_ = 0;   // ticks
    uint64_t last_end_ = 0;  // of the sample before, since `started_`; 0: there was none
    bool is_first_ = false;
    SamplingLosses losses_;
};

}  // namespace kinetograph::collect::cupti
