// The fake CUPTI's counters: a chip with a few metrics, whose values tell how many kernels ran in a range.
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <string.h>

#include <string>
#include <vector>

#include "fake_cuda.h"
#include "libcupti.h"

struct CUpti_Profiler_Host_Object {
    CUpti_ProfilerType use;
    std::vector<std::string> metrics;
};

namespace {

struct CountedRange {
    char name[24];
    uint64_t kernels;
};

// What stands in the memory of the client.
struct CounterData {
    uint64_t count;
    CountedRange ranges[1];
};

}  // namespace

struct CUpti_RangeProfiler_Object {
    CounterData* data = nullptr;
    size_t most_ranges = 0;
    bool per_kernel = false, is_started = false;
    std::string pushed;
    uint64_t kernels = 0, next_number = 0;
};

namespace {

const char* counters[] = {"dram__bytes_read", "dram__bytes_write", "sm__cycles_active"};
const char* throughputs[] = {"sm__throughput"};
const char* counter_endings[] = {".avg", ".max", ".min", ".sum", ".sum.per_second"};
const char* throughput_endings[] = {".avg.pct_of_peak_sustained_elapsed"};
CUpti_RangeProfiler_Object* profiler = nullptr;
int initialisations = 0;

bool is_one_of(const char* const* names, size_t count, const std::string& wanted) {
    for (size_t i = 0; i < count; ++i)
        if (wanted == names[i]) return true;
    return false;
}

bool is_counter(const std::string& metric) {
    return is_one_of(counters, 3, metric.substr(0, metric.find('.')));
}

bool is_whole_name(const std::string& metric) {
    const std::string base = metric.substr(0, metric.find('.')), ending = metric.substr(base.size());
    return is_counter(base) ? is_one_of(counter_endings, 5, ending)
                            : is_one_of(throughputs, 1, base) && is_one_of(throughput_endings, 1, ending);
}

// For more than there is room for nothing is said, as by the real one.
void add_range(const std::string& name, uint64_t kernels) {
    CounterData& data = *profiler->data;
    if (data.count >= profiler->most_ranges) return;
    CountedRange& range = data.ranges[data.count++];
    strncpy(range.name, name.c_str(), sizeof range.name - 1);
    range.kernels = kernels;
}

void count_kernel() {
    if (!profiler || !profiler->is_started) return;
    if (profiler->per_kernel)
        add_range(std::to_string(profiler->next_number++), 1);
    else if (!profiler->pushed.empty())
        ++profiler->kernels;
}

void call_back(CUpti_ApiCallbackSite site, const char* kernel, bool is_captured, uint64_t* slot) {
    if (!fake::calls_back(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)) return;
    cuLaunchKernel_params params{};
    if (is_captured) params.hStream = static_cast<CUstream>(fake_captured_stream);
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data{};
    data.callbackSite = site;
    data.functionParams = &params;
    data.functionReturnValue = &result;
    data.symbolName = kernel;
    data.context = reinterpret_cast<CUcontext>(0x1000);  // the primary one of libcuda.cpp
    data.correlationData = slot;
    fake::client.callback(fake::client.data, CUPTI_CB_DOMAIN_DRIVER_API,
                          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
}

void launch(const char* kernel, bool is_captured, bool is_counted) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    uint64_t slot = 0;
    call_back(CUPTI_API_ENTER, kernel, is_captured, &slot);
    if (is_counted && !is_captured) count_kernel();
    call_back(CUPTI_API_EXIT, kernel, is_captured, &slot);
}

}  // namespace

void fake_counted_launch(const char* kernel, int is_captured) {
    launch(kernel, is_captured != 0, true);
}

void fake_uncounted_launch(const char* kernel) {
    launch(kernel, false, false);
}

// ---- host

CUPTI_FAKE cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
    ENTER("cuptiProfilerInitialize");
    if (!fake::client.callback) fake::die("counters are initialised before anybody has subscribed");
    ++initialisations;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params*) {
    ENTER("cuptiProfilerDeInitialize");
    if (fake::samples_anything()) fake::die("counters are left while they are sampled");
    --initialisations;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
    ENTER("cuptiDeviceGetChipName");
    if (initialisations == 0) fake::die("asked for the name of a chip before counters are initialised");
    params->pChipName = "FAKE100";
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
    ENTER("cuptiProfilerHostInitialize");
    if (strcmp(params->pChipName, "FAKE100") != 0) return CUPTI_ERROR_INVALID_CHIP_NAME;
    params->pHostObject = new CUpti_Profiler_Host_Object{params->profilerType, {}};
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
    ENTER("cuptiProfilerHostDeinitialize");
    delete params->pHostObject;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params* params) {
    ENTER("cuptiProfilerHostGetBaseMetrics");
    const bool counts = params->metricType == CUPTI_METRIC_TYPE_COUNTER;
    params->ppMetricNames = counts ? counters : throughputs;
    params->numMetrics = counts ? 3 : params->metricType == CUPTI_METRIC_TYPE_THROUGHPUT ? 1 : 0;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params* params) {
    ENTER("cuptiProfilerHostGetSubMetrics");
    const bool counts = params->metricType == CUPTI_METRIC_TYPE_COUNTER;
    if (!is_one_of(counts ? counters : throughputs, counts ? 3 : 1, params->pMetricName) ||
        params->metricType == CUPTI_METRIC_TYPE_RATIO)
        return CUPTI_ERROR_INVALID_METRIC_NAME;
    params->ppSubMetrics = counts ? counter_endings : throughput_endings;
    params->numOfSubmetrics = counts ? 5 : 1;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
    ENTER("cuptiProfilerHostConfigAddMetrics");
    for (size_t i = 0; i < params->numMetrics; ++i)
        if (!is_whole_name(params->ppMetricNames[i])) return CUPTI_ERROR_INVALID_PARAMETER;
    params->pHostObject->metrics.assign(params->ppMetricNames, params->ppMetricNames + params->numMetrics);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
    ENTER("cuptiProfilerHostGetConfigImageSize");
    params->configImageSize = 1;
    return CUPTI_SUCCESS;
}

// Its one byte is the number of passes.
CUPTI_FAKE cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
    ENTER("cuptiProfilerHostGetConfigImage");
    uint8_t passes = 1;
    for (const std::string& metric : params->pHostObject->metrics)
        if (!is_counter(metric)) passes += 7;
    params->pConfigImage[0] = passes;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
    ENTER("cuptiProfilerHostGetNumOfPasses");
    params->numOfPasses = params->pConfigImage[0];
    return CUPTI_SUCCESS;
}

// The n-th metric of a range with k kernels, or of a sample of value k, is 100 k + n.
CUPTI_FAKE cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
    ENTER("cuptiProfilerHostEvaluateToGpuValues");
    const auto* data = reinterpret_cast<const CounterData*>(params->pCounterDataImage);
    const uint64_t value = params->pHostObject->use == CUPTI_PROFILER_TYPE_PM_SAMPLING
                               ? fake::sample_value(params->pCounterDataImage, params->rangeIndex)
                               : data->ranges[params->rangeIndex].kernels;
    for (size_t i = 0; i < params->numMetrics; ++i) params->pMetricValues[i] = double(value * 100 + i);
    return CUPTI_SUCCESS;
}

// ---- ranges

CUPTI_FAKE cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
    ENTER("cuptiRangeProfilerEnable");
    params->pRangeProfilerObject = profiler = new CUpti_RangeProfiler_Object;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* params) {
    ENTER("cuptiRangeProfilerDisable");
    delete params->pRangeProfilerObject;
    profiler = nullptr;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
    ENTER("cuptiRangeProfilerGetCounterDataSize");
    params->counterDataSize = sizeof(uint64_t) + params->maxNumOfRanges * sizeof(CountedRange);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
    ENTER("cuptiRangeProfilerCounterDataImageInitialize");
    memset(params->pCounterData, 0, params->counterDataSize);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
    ENTER("cuptiRangeProfilerSetConfig");
    profiler->data = reinterpret_cast<CounterData*>(params->pCounterDataImage);
    profiler->most_ranges = params->maxRangesPerPass;
    profiler->per_kernel = params->range == CUPTI_AutoRange;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
    ENTER("cuptiRangeProfilerStart");
    profiler->is_started = true;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
    ENTER("cuptiRangeProfilerStop");
    profiler->is_started = false;
    params->isAllPassSubmitted = 1;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* params) {
    ENTER("cuptiRangeProfilerPushRange");
    profiler->pushed = params->pRangeName;
    profiler->kernels = 0;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
    ENTER("cuptiRangeProfilerPopRange");
    add_range(profiler->pushed, profiler->kernels);
    profiler->pushed.clear();
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
    ENTER("cuptiRangeProfilerDecodeData");
    params->numOfRangeDropped = 0;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
    ENTER("cuptiRangeProfilerGetCounterDataInfo");
    params->numTotalRanges = reinterpret_cast<const CounterData*>(params->pCounterDataImage)->count;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* params) {
    ENTER("cuptiRangeProfilerCounterDataGetRangeInfo");
    const auto* data = reinterpret_cast<const CounterData*>(params->pCounterDataImage);
    params->rangeName = data->ranges[params->rangeIndex].name;
    return CUPTI_SUCCESS;
}
