#include "collect/cupti/pm_sampler.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace kinetograph::collect::cupti {

namespace {

// What does not fit into the image is lost, and each sample takes some 16 KiB there: so it has room for all
// that comes while a reader sleeps far too long, and not for much more.
constexpr uint64_t longest_sleep_ns = 200'000'000;
constexpr uint64_t fewest_samples = 256, most_samples = 4096;
constexpr uint64_t reads_per_sleep = 8;
constexpr uint64_t longest_period_ms = 100;
// Where samples wait until they are read, 4 to 7 KiB each: they should find room there also when the reader
// is later than that.
constexpr size_t buffer_bytes_per_sample = size_t(32) << 10;
constexpr size_t least_buffer_bytes = size_t(64) << 20;
// One image after the other, until the buffer is empty. It is, unless somebody slept.
constexpr int most_images = 8;

uint64_t samples_at_once(uint64_t interval_ns) {
    return std::clamp(longest_sleep_ns / interval_ns, fewest_samples, most_samples);
}

}  // namespace

int PmSampler::period_ms(uint64_t interval_ns) {
    const uint64_t ns = interval_ns * samples_at_once(interval_ns) / reads_per_sleep;
    return int(std::clamp<uint64_t>(ns / 1'000'000, 1, longest_period_ms));
}

std::vector<uint8_t> available_counters(const SamplingFunctions& functions, int32_t device) {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params);
    params.deviceIndex = size_t(device);
    check(functions, "cuptiPmSamplingGetCounterAvailability", functions.availability(&params));
    std::vector<uint8_t> image(params.counterAvailabilityImageSize);
    params.pCounterAvailabilityImage = image.data();
    check(functions, "cuptiPmSamplingGetCounterAvailability", functions.availability(&params));
    return image;
}

PmSampler::PmSampler(const SamplingFunctions& functions, const MetricHost& host, int32_t device,
                     uint64_t interval_ns)
    : functions_(functions), host_(host), device_(device), interval_ns_(interval_ns) {
    enable();
}

PmSampler::~PmSampler() {
    disable();
}

void PmSampler::enable() {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_Enable_Params);
    params.deviceIndex = size_t(device_);
    check("cuptiPmSamplingEnable", functions_.enable(&params));
    sampler_ = params.pPmSamplingObject;
    try {
        configure();
        make_image();
    } catch (const MetricError&) {
        disable();
        throw;
    }
}

void PmSampler::configure() {
    const size_t room = samples_at_once(interval_ns_) * buffer_bytes_per_sample;
    auto config = KINETOGRAPH_PARAMS(CUpti_PmSampling_SetConfig_Params);
    config.pPmSamplingObject = sampler_;
    config.configSize = host_.config().size();
    config.pConfig = host_.config().data();
    config.hardwareBufferSize = std::max(room, least_buffer_bytes);
    config.samplingInterval = interval_ns_;
    config.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    config.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST;
    check("cuptiPmSamplingSetConfig", functions_.set_config(&config));
}

void PmSampler::disable() {
    if (!sampler_) return;
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_Disable_Params);
    params.pPmSamplingObject = std::exchange(sampler_, nullptr);
    functions_.disable(&params);
}

// The size is asked for once only: CUPTI refuses images of another size than the last one it has told.
void PmSampler::make_image() {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params);
    params.pPmSamplingObject = sampler_;
    params.pMetricNames = host_.metric_pointers();
    params.numMetrics = host_.metrics().size();
    params.maxSamples = uint32_t(samples_at_once(interval_ns_));
    check("cuptiPmSamplingGetCounterDataSize", functions_.data_size(&params));
    image_.assign(params.counterDataSize, 0);
    clear_image();
}

void PmSampler::clear_image() {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params);
    params.pPmSamplingObject = sampler_;
    params.counterDataSize = image_.size();
    params.pCounterData = image_.data();
    check("cuptiPmSamplingCounterDataImageInitialize", functions_.data_initialize(&params));
}

void PmSampler::start() {
    if (!sampler_) enable();
    started_ = base::ticks();
    last_end_ = 0;
    is_first_ = true;
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_Start_Params);
    params.pPmSamplingObject = sampler_;
    check("cuptiPmSamplingStart", functions_.start(&params));
    is_sampling_ = true;
}

void PmSampler::stop() {
    if (!std::exchange(is_sampling_, false)) return;
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_Stop_Params);
    params.pPmSamplingObject = sampler_;
    check("cuptiPmSamplingStop", functions_.stop(&params));
}

std::vector<CounterSample> PmSampler::read() {
    std::vector<CounterSample> samples;
    if (!sampler_) return samples;
    clock_.anchor();
    for (int image = 0; image < most_images; ++image)
        if (!decode(samples)) break;
    return samples;
}

// True if there is more.
bool PmSampler::decode(std::vector<CounterSample>& samples) {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_DecodeData_Params);
    params.pPmSamplingObject = sampler_;
    params.pCounterDataImage = image_.data();
    params.counterDataImageSize = image_.size();
    const CUptiResult result = functions_.decode(&params);
    if (result == CUPTI_ERROR_OUT_OF_MEMORY) {
        begin_anew();
        return false;
    }
    check("cuptiPmSamplingDecodeData", result);
    const size_t count = completed();
    for (size_t index = 0; index < count; ++index) add_sample(index, samples);
    clear_image();
    return params.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
}

// The buffer was full, and CUPTI would never read it again.
void PmSampler::begin_anew() {
    ++losses_.overflows;
    disable();
    if (std::exchange(is_sampling_, false)) start();
}

size_t PmSampler::completed() const {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params);
    params.pCounterDataImage = image_.data();
    params.counterDataImageSize = image_.size();
    check("cuptiPmSamplingGetCounterDataInfo", functions_.data_info(&params));
    return params.numCompletedSamples;
}

void PmSampler::add_sample(size_t index, std::vector<CounterSample>& samples) {
    auto params = KINETOGRAPH_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params);
    params.pPmSamplingObject = sampler_;
    params.pCounterDataImage = image_.data();
    params.counterDataImageSize = image_.size();
    params.sampleIndex = index;
    check("cuptiPmSamplingCounterDataGetSampleInfo", functions_.sample_info(&params));
    CounterSample sample{clock_.ticks(params.startTimestamp), clock_.ticks(params.endTimestamp), {}};
    if (!covers_time(sample)) return;
    sample.values = host_.evaluate(image_, index);
    samples.push_back(std::move(sample));
}

// CUPTI also gives samples that are none: the first one began before anybody asked, some have no times where
// others were lost, and after the last come some that last no time.
bool PmSampler::covers_time(const CounterSample& sample) {
    if (std::exchange(is_first_, false)) return false;
    if (sample.start < started_ || sample.end <= std::max(sample.start, last_end_)) return false;
    const uint64_t length = sample.end - sample.start;
    const uint64_t gap = last_end_ == 0 || sample.start < last_end_ ? 0 : sample.start - last_end_;
    losses_.samples += (gap + length / 2) / length;
    last_end_ = sample.end;
    return true;
}

SamplingLosses PmSampler::take_losses() {
    return std::exchange(losses_, {});
}

}  // namespace kinetograph::collect::cupti
