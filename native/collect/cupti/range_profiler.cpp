#include "collect/cupti/range_profiler.h"

#include <algorithm>

namespace kinetograph::collect::cupti {

namespace {

// Some metrics need more than half a megabyte for each range.
constexpr size_t most_ranges_at_once = 200;
constexpr size_t most_data_bytes = size_t(128) << 20;

}  // namespace

RangeProfiler::RangeProfiler(const RangeFunctions& functions, const MetricHost& host, CUcontext context,
                             bool per_kernel)
    : functions_(functions), host_(host), per_kernel_(per_kernel) {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    check("cuptiRangeProfilerEnable", functions_.enable(&params));
    profiler_ = params.pRangeProfilerObject;
}

RangeProfiler::~RangeProfiler() {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = profiler_;
    functions_.disable(&params);
}

size_t RangeProfiler::data_bytes(size_t ranges) const {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    params.pRangeProfilerObject = profiler_;
    params.pMetricNames = host_.metric_pointers();
    params.numMetrics = host_.metrics().size();
    params.maxNumOfRanges = ranges;
    params.maxNumRangeTreeNodes = uint32_t(ranges);
    check("cuptiRangeProfilerGetCounterDataSize", functions_.data_size(&params));
    return params.counterDataSize;
}

void RangeProfiler::start() {
    const size_t one = data_bytes(1), each = std::max<size_t>(1, data_bytes(2) - one);
    most_ranges_ = std::clamp<size_t>(most_data_bytes / each, 1, most_ranges_at_once);
    counter_data_.assign(data_bytes(most_ranges_), 0);
    auto data = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    data.pRangeProfilerObject = profiler_;
    data.counterDataSize = counter_data_.size();
    data.pCounterData = counter_data_.data();
    check("cuptiRangeProfilerCounterDataImageInitialize", functions_.data_initialize(&data));
    configure();
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_Start_Params);
    params.pRangeProfilerObject = profiler_;
    check("cuptiRangeProfilerStart", functions_.start(&params));
}

void RangeProfiler::configure() {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    params.pRangeProfilerObject = profiler_;
    params.configSize = host_.config().size();
    params.pConfig = host_.config().data();
    params.counterDataImageSize = counter_data_.size();
    params.pCounterDataImage = counter_data_.data();
    params.range = per_kernel_ ? CUPTI_AutoRange : CUPTI_UserRange;
    params.replayMode = per_kernel_ ? CUPTI_KernelReplay : CUPTI_UserReplay;
    params.maxRangesPerPass = most_ranges_;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = per_kernel_ ? 0 : 1;
    check("cuptiRangeProfilerSetConfig", functions_.set_config(&params));
}

std::vector<CountedRange> RangeProfiler::stop() {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_Stop_Params);
    params.pRangeProfilerObject = profiler_;
    check("cuptiRangeProfilerStop", functions_.stop(&params));
    auto decode = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = profiler_;
    check("cuptiRangeProfilerDecodeData", functions_.decode(&decode));
    return read();
}

std::vector<CountedRange> RangeProfiler::read() const {
    auto info = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = counter_data_.data();
    info.counterDataImageSize = counter_data_.size();
    check("cuptiRangeProfilerGetCounterDataInfo", functions_.data_info(&info));
    std::vector<CountedRange> ranges;
    for (size_t index = 0; index < info.numTotalRanges; ++index) {
        auto range = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
        range.pCounterDataImage = counter_data_.data();
        range.counterDataImageSize = counter_data_.size();
        range.rangeIndex = index;
        range.rangeDelimiter = "/";
        check("cuptiRangeProfilerCounterDataGetRangeInfo", functions_.range_info(&range));
        ranges.push_back({range.rangeName ? range.rangeName : "", host_.evaluate(counter_data_, index)});
    }
    return ranges;
}

void RangeProfiler::push(const char* name) {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    params.pRangeProfilerObject = profiler_;
    params.pRangeName = name;
    check("cuptiRangeProfilerPushRange", functions_.push(&params));
}

void RangeProfiler::pop() {
    auto params = KINETOGRAPH_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    params.pRangeProfilerObject = profiler_;
    check("cuptiRangeProfilerPopRange", functions_.pop(&params));
}

}  // namespace kinetograph::collect::cupti
