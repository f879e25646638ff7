#include "collect/cupti/sampling_session.h"

#include <dlfcn.h>

#include <bit>

#include "base/quiet_thread.h"
#include "collect/cupti/append_struct.h"
#include "collect/cupti/metric_choice.h"
#include "collect/cupti/metric_devices.h"
#include "record/recorder.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr std::string_view not_read_in_time =
    "samples of hardware counters were lost: they were not read in time";
constexpr std::string_view overflowed =
    "times there were more samples of hardware counters than CUPTI keeps, and sampling began anew";

// By time, and not by cycles of a clock that changes its pace.
constexpr int least_capability = 86;

int capability_of(const Driver& driver, int32_t index) {
    CUdevice device = 0;
    int major = 0, minor = 0;
    driver.device(&device, index);
    driver.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return 10 * major + minor;
}

void require_capability(const Driver& driver, int32_t index) {
    const int capability = capability_of(driver, index);
    if (capability >= least_capability) return;
    const std::string spelled = std::to_string(capability / 10) + "." + std::to_string(capability % 10);
    throw MetricRefusal({MetricProblem::unsupported, "GPU " + std::to_string(index) +
                                                         " has compute capability " + spelled +
                                                         ", and sampling by time needs 8.6 or newer"});
}

std::vector<SampledDevice> prepare_devices(const Driver& driver, const SamplingFunctions& functions,
                                           const SamplingOptions& options) {
    std::vector<SampledDevice> devices;
    for (const MetricDevice& used : find_used_devices(driver)) {
        require_capability(driver, used.index);
        const Chip chip{chip_of(functions, used.index), CUPTI_PROFILER_TYPE_PM_SAMPLING,
                        available_counters(functions, used.index)};
        devices.push_back({used.index, choose_metrics(functions, chip, options.metrics, true)});
    }
    if (devices.empty())
        throw MetricRefusal({MetricProblem::no_context, "the program has not used CUDA yet"});
    return devices;
}

std::vector<uint32_t> name_ids(const std::vector<std::string>& metrics) {
    std::vector<uint32_t> ids;
    for (const std::string& metric : metrics) ids.push_back(record::Recorder::instance().intern(metric));
    return ids;
}

// Viewers draw a value from its time on, which is therefore that of the sample's begin.
void append(record::ThreadBuffer& thread, int32_t device, const std::vector<uint32_t>& names,
            const CounterSample& sample) {
    const record::DeviceCounter counter{{cuda_device, {}, device, record::counters_resource}, {}};
    for (size_t index = 0; index < names.size(); ++index)
        append_struct(
            thread,
            {sample.start, std::bit_cast<uint64_t>(sample.values[index]), names[index],
             record::RecordKind::device_counter, uint8_t(record::Category::hardware_counters), 0, 0, 0, 0, 0},
            &counter, sizeof counter);
}

}  // namespace

SamplingSession::SamplingSession(const Driver& driver, const Cupti& cupti, const SamplingOptions& options)
    : functions_(find_sampling_functions(dlopen(cupti.path.c_str(), RTLD_LAZY | RTLD_NOLOAD))),
      counters_(functions_),
      devices_(prepare_devices(driver, functions_, options)),
      period_(PmSampler::period_ms(options.interval_ns)) {
    for (SampledDevice& device : devices_)
        device.sampler =
            std::make_unique<PmSampler>(functions_, *device.host, device.index, options.interval_ns);
    thread_ = base::start_quietly("kg-pm-sampling", [this] { run(); });
}

SamplingSession::~SamplingSession() {
    pause();
    {
        std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

template <class Step>
void SamplingSession::for_each_device(const char* what, Step step) {
    for (SampledDevice& device : devices_) {
        try {
            step(device);
        } catch (const std::exception& error) {
            record::tell_or_count(nullptr, [&] {
                if (failure_.empty())
                    failure_ = std::string("hardware counters could not be ") + what + ": " + error.what();
            });
        }
    }
}

void SamplingSession::resume() {
    std::lock_guard lock(mutex_);
    if (is_sampling_) return;
    for_each_device("sampled", [](SampledDevice& device) { device.sampler->start(); });
    is_sampling_ = true;
    changed_.notify_all();
}

void SamplingSession::pause() {
    std::unique_lock lock(mutex_);
    if (!is_sampling_) return;
    is_pausing_ = true;
    changed_.notify_all();
    paused_.wait(lock, [this] { return !is_pausing_; });
}

void SamplingSession::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return is_ending_ || is_sampling_; });
        if (is_ending_) return;
        changed_.wait_for(lock, period_, [this] { return is_pausing_; });
        if (is_pausing_) finish_pause();
        if (is_sampling_) tell_samples();
    }
}

void SamplingSession::tell_samples() {
    for_each_device("read", [this](SampledDevice& device) { tell_samples_of(device); });
}

// Without a session that records they are read all the same, or they would be in the way of later ones.
void SamplingSession::tell_samples_of(SampledDevice& device) {
    const std::vector<CounterSample> samples = device.sampler->read();
    record::ThreadBuffer* thread = record::serving_thread();
    if (!thread) return;
    const std::vector<uint32_t> names = name_ids(device.host->metrics());
    for (const CounterSample& sample : samples) append(*thread, device.index, names, sample);
}

void SamplingSession::finish_pause() {
    for_each_device("stopped", [](SampledDevice& device) { device.sampler->stop(); });
    tell_samples();
    if (record::ThreadBuffer* thread = record::serving_thread())
        record::tell_or_count(thread, [&] { tell_losses(*thread); });
    failure_.clear();
    is_sampling_ = is_pausing_ = false;
    paused_.notify_all();
}

void SamplingSession::tell_losses(record::ThreadBuffer& thread) {
    for (SampledDevice& device : devices_) {
        const SamplingLosses losses = device.sampler->take_losses();
        if (losses.samples != 0)
            record::tell_note(thread, "dropped", not_read_in_time, uint32_t(losses.samples));
        if (losses.overflows != 0)
            record::tell_note(thread, "dropped", overflowed, uint32_t(losses.overflows));
    }
    if (!failure_.empty()) record::tell_note(thread, "metrics", failure_, 0);
}

}  // namespace kinetograph::collect::cupti
