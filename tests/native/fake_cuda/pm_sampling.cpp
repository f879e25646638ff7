// The fake CUPTI's counters on a time grid: samples that tests let a device take.
#include <cupti_pmsampling.h>
#include <string.h>

#include <deque>

#include "fake_cuda.h"
#include "libcupti.h"

namespace {

constexpr uint64_t sample_ticks = 1000;
constexpr size_t most_devices = 8;

struct Sample {
    uint64_t start, end, value;
};

// What stands in the memory of the client.
struct SampleImage {
    uint64_t room, count;
    Sample samples[1];
};

size_t image_bytes(uint64_t samples) {
    return sizeof(SampleImage) + samples * sizeof(Sample);
}

}  // namespace

struct CUpti_PmSampling_Object {
    size_t device = 0;
    bool is_configured = false, is_started = false, is_first = true, has_overflowed = false;
    uint64_t interval_ns = 0, room = 0, started = 0, time = 0;
    std::deque<Sample> taken;
};

namespace {

CUpti_PmSampling_Object* samplers[most_devices];
uint64_t interval_ns = 0;

// The first one begins nowhere, as with the real one.
void take(CUpti_PmSampling_Object& sampler, uint64_t value) {
    const uint64_t start = sampler.time;
    sampler.time += sample_ticks;
    sampler.taken.push_back({sampler.is_first ? 1 : start, sampler.time, value});
    sampler.is_first = false;
}

CUpti_PmSampling_Object* sampling(int device) {
    CUpti_PmSampling_Object* sampler = samplers[size_t(device) % most_devices];
    return sampler && sampler->is_started ? sampler : nullptr;
}

}  // namespace

namespace fake {

uint64_t sample_value(const uint8_t* image, size_t index) {
    return reinterpret_cast<const SampleImage*>(image)->samples[index].value;
}

bool samples_anything() {
    for (const CUpti_PmSampling_Object* sampler : samplers)
        if (sampler) return true;
    return false;
}

}  // namespace fake

void fake_take_samples(int device, int count, uint64_t value) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    CUpti_PmSampling_Object* sampler = sampling(device);
    if (!sampler) return;
    for (int i = 0; i < count; ++i) take(*sampler, value);
}

void fake_miss_samples(int device, int count) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    if (CUpti_PmSampling_Object* sampler = sampling(device)) sampler->time += uint64_t(count) * sample_ticks;
}

void fake_overflow_samples(int device) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    if (CUpti_PmSampling_Object* sampler = sampling(device)) sampler->has_overflowed = true;
}

int fake_unread_samples(int device) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    const CUpti_PmSampling_Object* sampler = sampling(device);
    return sampler ? int(sampler->taken.size()) : 0;
}

int fake_has_overflowed(int device) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    const CUpti_PmSampling_Object* sampler = sampling(device);
    return !sampler || sampler->has_overflowed;
}

int fake_is_sampling(int device) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return sampling(device) != nullptr;
}

int fake_sampled_devices(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    int count = 0;
    for (const CUpti_PmSampling_Object* sampler : samplers) count += sampler != nullptr;
    return count;
}

uint64_t fake_sampling_interval(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return interval_ns;
}

CUPTI_FAKE cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params* params) {
    ENTER("cuptiPmSamplingGetCounterAvailability");
    if (samplers[params->deviceIndex]) return CUPTI_ERROR_UNKNOWN;
    params->counterAvailabilityImageSize = 4;
    if (params->pCounterAvailabilityImage) memcpy(params->pCounterAvailabilityImage, "fake", 4);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* params) {
    ENTER("cuptiPmSamplingEnable");
    if (samplers[params->deviceIndex] || !fake::client.callback) return CUPTI_ERROR_INVALID_OPERATION;
    auto* sampler = new CUpti_PmSampling_Object;
    sampler->device = params->deviceIndex;
    params->pPmSamplingObject = samplers[params->deviceIndex] = sampler;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params* params) {
    ENTER("cuptiPmSamplingDisable");
    samplers[params->pPmSamplingObject->device] = nullptr;
    delete params->pPmSamplingObject;
    return CUPTI_SUCCESS;
}

// The one byte of the configuration is the number of passes.
CUPTI_FAKE cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* params) {
    ENTER("cuptiPmSamplingSetConfig");
    if (params->pConfig[0] != 1) return CUPTI_ERROR_NOT_SUPPORTED;
    if (params->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->pPmSamplingObject->is_configured = true;
    interval_ns = params->samplingInterval;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* params) {
    ENTER("cuptiPmSamplingGetCounterDataSize");
    params->pPmSamplingObject->room = params->maxSamples;
    params->counterDataSize = image_bytes(params->maxSamples);
    return CUPTI_SUCCESS;
}

// One of another size than was told last is refused, as by the real one.
CUPTI_FAKE cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params* params) {
    ENTER("cuptiPmSamplingCounterDataImageInitialize");
    const uint64_t room = params->pPmSamplingObject->room;
    if (params->counterDataSize != image_bytes(room)) return CUPTI_ERROR_UNKNOWN;
    auto* image = reinterpret_cast<SampleImage*>(params->pCounterData);
    image->room = room;
    image->count = 0;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiPmSamplingStart(CUpti_PmSampling_Start_Params* params) {
    ENTER("cuptiPmSamplingStart");
    CUpti_PmSampling_Object& sampler = *params->pPmSamplingObject;
    if (!sampler.is_configured || sampler.is_started) return CUPTI_ERROR_INVALID_OPERATION;
    sampler.is_started = sampler.is_first = true;
    sampler.started = sampler.time = fake::now();
    return CUPTI_SUCCESS;
}

// Leaves a sample that lasts no time, as the real one does.
CUPTI_FAKE cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params* params) {
    ENTER("cuptiPmSamplingStop");
    CUpti_PmSampling_Object& sampler = *params->pPmSamplingObject;
    if (!sampler.is_started) return CUPTI_ERROR_INVALID_OPERATION;
    sampler.is_started = false;
    sampler.taken.push_back({sampler.started, sampler.started, 0});
    return CUPTI_SUCCESS;
}

// What finds no room in the image is lost, and leaves samples without times behind.
CUPTI_FAKE cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* params) {
    ENTER("cuptiPmSamplingDecodeData");
    CUpti_PmSampling_Object& sampler = *params->pPmSamplingObject;
    params->overflow = sampler.has_overflowed;
    if (sampler.has_overflowed) return CUPTI_ERROR_OUT_OF_MEMORY;
    auto& image = *reinterpret_cast<SampleImage*>(params->pCounterDataImage);
    while (image.count < image.room && !sampler.taken.empty()) {
        image.samples[image.count++] = sampler.taken.front();
        sampler.taken.pop_front();
    }
    for (Sample& lost : sampler.taken) lost = {};
    params->decodeStopReason = sampler.taken.empty() ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS
                                                     : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* params) {
    ENTER("cuptiPmSamplingGetCounterDataInfo");
    const auto& image = *reinterpret_cast<const SampleImage*>(params->pCounterDataImage);
    params->numTotalSamples = image.room;
    params->numPopulatedSamples = params->numCompletedSamples = image.count;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiPmSamplingCounterDataGetSampleInfo(
    CUpti_PmSampling_CounterData_GetSampleInfo_Params* params) {
    ENTER("cuptiPmSamplingCounterDataGetSampleInfo");
    const auto& image = *reinterpret_cast<const SampleImage*>(params->pCounterDataImage);
    params->startTimestamp = image.samples[params->sampleIndex].start;
    params->endTimestamp = image.samples[params->sampleIndex].end;
    return CUPTI_SUCCESS;
}
