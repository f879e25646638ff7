// Counters of all devices that the program uses, on a time grid: from opening to closing, with pauses
// between.
//
// The collector owns it while CUPTI is ours, and lets go of it before CUPTI is let go of. Its thread reads
// the samples of all devices and tells them; it has no part in Python and takes no lock but this one's. What
// cannot be had is thrown when this is made; what fails later is a note of the trace.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collect/cupti/library.h"
#include "collect/cupti/metrics.h"
#include "collect/cupti/pm_sampler.h"
#include "record/thread_buffer.h"

namespace kinetograph::collect::cupti {

struct SampledDevice {
    int32_t index = 0;
    std::unique_ptr<MetricHost> host = {};
    std::unique_ptr<PmSampler> sampler = {};
};

class SamplingSession {
public:
    // Nothing is sampled yet. Throws MetricRefusal, MetricError and std::runtime_error; then nothing has
    // changed.
    SamplingSession(const Driver& driver, const Cupti& cupti, const SamplingOptions& options);
    ~SamplingSession();
    SamplingSession(const SamplingSession&) = delete;
    SamplingSession& operator=(const SamplingSession&) = delete;

    // From any thread.
    void resume();
    // Waits until all that was sampled has been told.
    void pause();

private:
    void run();
    void tell_samples();
    void tell_samples_of(SampledDevice& device);
    void finish_pause();
    void tell_losses(record::ThreadBuffer& thread);
    template <class Step>
    void for_each_device(const char* what, Step step);

    const SamplingFunctions functions_;
    CountersInUse counters_;  // before the devices, so that it goes after them
    std::vector<SampledDevice> devices_;
    const std::chrono::milliseconds period_;
    std::mutex mutex_;  // all that follows, and the devices
    std::condition_variable changed_, paused_;
    bool is_sampling_ = false, is_pausing_ = false, is_ending_ = false;
    std::string failure_;  // the first since the last pause
    std::thread thread_;
};

}  // namespace kinetograph::collect::cupti
