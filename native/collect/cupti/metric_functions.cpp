#include "collect/cupti/metric_functions.h"

#include <dlfcn.h>

namespace kinetograph::collect::cupti {

namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
        throw std::runtime_error(std::string("this libcupti has no ") + name +
                                 ": hardware metrics need CUDA 12.6 or newer");
}

void find_metrics(void* library, MetricFunctions& functions) {
    find(library, "cuptiGetResultString", functions.result_string);
    find(library, "cuptiProfilerInitialize", functions.initialize);
    find(library, "cuptiProfilerDeInitialize", functions.deinitialize);
    find(library, "cuptiDeviceGetChipName", functions.chip_name);
    find(library, "cuptiProfilerHostInitialize", functions.host_initialize);
    find(library, "cuptiProfilerHostDeinitialize", functions.host_deinitialize);
    find(library, "cuptiProfilerHostGetBaseMetrics", functions.base_metrics);
    find(library, "cuptiProfilerHostGetSubMetrics", functions.sub_metrics);
    find(library, "cuptiProfilerHostConfigAddMetrics", functions.add_metrics);
    find(library, "cuptiProfilerHostGetConfigImageSize", functions.config_size);
    find(library, "cuptiProfilerHostGetConfigImage", functions.config_image);
    find(library, "cuptiProfilerHostGetNumOfPasses", functions.passes);
    find(library, "cuptiProfilerHostEvaluateToGpuValues", functions.evaluate);
}

std::string spelled(const MetricFunctions& functions, const char* function, CUptiResult result) {
    const char* text = nullptr;
    if (functions.result_string(result, &text) != CUPTI_SUCCESS || !text) text = "no text for it";
    return std::string(function) + " gave error " + std::to_string(int(result)) + ", " + text;
}

}  // namespace

MetricFunctions find_metric_functions(void* library) {
    MetricFunctions functions;
    find_metrics(library, functions);
    return functions;
}

RangeFunctions find_range_functions(void* library) {
    RangeFunctions functions;
    find_metrics(library, functions);
    find(library, "cuptiRangeProfilerEnable", functions.enable);
    find(library, "cuptiRangeProfilerDisable", functions.disable);
    find(library, "cuptiRangeProfilerGetCounterDataSize", functions.data_size);
    find(library, "cuptiRangeProfilerCounterDataImageInitialize", functions.data_initialize);
    find(library, "cuptiRangeProfilerSetConfig", functions.set_config);
    find(library, "cuptiRangeProfilerStart", functions.start);
    find(library, "cuptiRangeProfilerStop", functions.stop);
    find(library, "cuptiRangeProfilerPushRange", functions.push);
    find(library, "cuptiRangeProfilerPopRange", functions.pop);
    find(library, "cuptiRangeProfilerDecodeData", functions.decode);
    find(library, "cuptiRangeProfilerGetCounterDataInfo", functions.data_info);
    find(library, "cuptiRangeProfilerCounterDataGetRangeInfo", functions.range_info);
    return functions;
}

SamplingFunctions find_sampling_functions(void* library) {
    SamplingFunctions functions;
    find_metrics(library, functions);
    find(library, "cuptiPmSamplingGetCounterAvailability", functions.availability);
    find(library, "cuptiPmSamplingEnable", functions.enable);
    find(library, "cuptiPmSamplingDisable", functions.disable);
    find(library, "cuptiPmSamplingSetConfig", functions.set_config);
    find(library, "cuptiPmSamplingGetCounterDataSize", functions.data_size);
    find(library, "cuptiPmSamplingCounterDataImageInitialize", functions.data_initialize);
    find(library, "cuptiPmSamplingStart", functions.start);
    find(library, "cuptiPmSamplingStop", functions.stop);
    find(library, "cuptiPmSamplingDecodeData", functions.decode);
    find(library, "cuptiPmSamplingGetCounterDataInfo", functions.data_info);
    find(library, "cuptiPmSamplingCounterDataGetSampleInfo", functions.sample_info);
    return functions;
}

MetricError::MetricError(const MetricFunctions& functions, const char* function, CUptiResult result)
    : std::runtime_error(spelled(functions, function, result)), result(result) {}

}  // namespace kinetograph::collect::cupti
