// The part of libcupti that counts in hardware: found by name, for older libraries have only some of it.
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <stdexcept>
#include <string>

namespace kinetograph::collect::cupti {

// What is known without a device, and what every use of counters begins and ends with.
struct MetricFunctions {
    decltype(&cuptiGetResultString) result_string = nullptr;
    decltype(&cuptiProfilerInitialize) initialize = nullptr;
    decltype(&cuptiProfilerDeInitialize) deinitialize = nullptr;
    decltype(&cuptiDeviceGetChipName) chip_name = nullptr;
    decltype(&cuptiProfilerHostInitialize) host_initialize = nullptr;
    decltype(&cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
    decltype(&cuptiProfilerHostGetBaseMetrics) base_metrics = nullptr;
    decltype(&cuptiProfilerHostGetSubMetrics) sub_metrics = nullptr;
    decltype(&cuptiProfilerHostConfigAddMetrics) add_metrics = nullptr;
    decltype(&cuptiProfilerHostGetConfigImageSize) config_size = nullptr;
    decltype(&cuptiProfilerHostGetConfigImage) config_image = nullptr;
    decltype(&cuptiProfilerHostGetNumOfPasses) passes = nullptr;
    decltype(&cuptiProfilerHostEvaluateToGpuValues) evaluate = nullptr;
};

// Counting over ranges.
struct RangeFunctions : MetricFunctions {
    decltype(&cuptiRangeProfilerEnable) enable = nullptr;
    decltype(&cuptiRangeProfilerDisable) disable = nullptr;
    decltype(&cuptiRangeProfilerGetCounterDataSize) data_size = nullptr;
    decltype(&cuptiRangeProfilerCounterDataImageInitialize) data_initialize = nullptr;
    decltype(&cuptiRangeProfilerSetConfig) set_config = nullptr;
    decltype(&cuptiRangeProfilerStart) start = nullptr;
    decltype(&cuptiRangeProfilerStop) stop = nullptr;
    decltype(&cuptiRangeProfilerPushRange) push = nullptr;
    decltype(&cuptiRangeProfilerPopRange) pop = nullptr;
    decltype(&cuptiRangeProfilerDecodeData) decode = nullptr;
    decltype(&cuptiRangeProfilerGetCounterDataInfo) data_info = nullptr;
    decltype(&cuptiRangeProfilerCounterDataGetRangeInfo) range_info = nullptr;
};

// Counting on a time grid.
struct SamplingFunctions : MetricFunctions {
    decltype(&cuptiPmSamplingGetCounterAvailability) availability = nullptr;
    decltype(&cuptiPmSamplingEnable) enable = nullptr;
    decltype(&cuptiPmSamplingDisable) disable = nullptr;
    decltype(&cuptiPmSamplingSetConfig) set_config = nullptr;
    decltype(&cuptiPmSamplingGetCounterDataSize) data_size = nullptr;
    decltype(&cuptiPmSamplingCounterDataImageInitialize) data_initialize = nullptr;
    decltype(&cuptiPmSamplingStart) start = nullptr;
    decltype(&cuptiPmSamplingStop) stop = nullptr;
    decltype(&cuptiPmSamplingDecodeData) decode = nullptr;
    decltype(&cuptiPmSamplingGetCounterDataInfo) data_info = nullptr;
    decltype(&cuptiPmSamplingCounterDataGetSampleInfo) sample_info = nullptr;
};

// Throw std::runtime_error that names what the library lacks. `library` is what dlopen gave.
MetricFunctions find_metric_functions(void* library);
RangeFunctions find_range_functions(void* library);
SamplingFunctions find_sampling_functions(void* library);

// CUPTI refused something.
struct MetricError : std::runtime_error {
    MetricError(const MetricFunctions& functions, const char* function, CUptiResult result);
    CUptiResult result;
};

inline void check(const MetricFunctions& functions, const char* function, CUptiResult result) {
    if (result != CUPTI_SUCCESS) throw MetricError(functions, function, result);
}

// The structs of this part say how long they are, without what the compiler adds at their end.
template <class Params>
Params of_size(size_t bytes) {
    Params params{};
    params.structSize = bytes;
    return params;
}
#define KINETOGRAPH_PARAMS(Type) ::kinetograph::collect::cupti::of_size<Type>(Type##_STRUCT_SIZE)

// Counters can be used as long as this lives. Somebody must have subscribed to CUPTI: some versions crash
// otherwise. Throws MetricError.
class CountersInUse {
public:
    explicit CountersInUse(const MetricFunctions& functions) : functions_(functions) {
        auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Initialize_Params);
        check(functions_, "cuptiProfilerInitialize", functions_.initialize(&params));
    }
    ~CountersInUse() {
        auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_DeInitialize_Params);
        functions_.deinitialize(&params);
    }
    CountersInUse(const CountersInUse&) = delete;
    CountersInUse& operator=(const CountersInUse&) = delete;

private:
    const MetricFunctions& functions_;
};

}  // namespace kinetograph::collect::cupti
