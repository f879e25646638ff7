#include "collect/cupti/metric_host.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr CUpti_MetricType metric_types[] = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO,
                                             CUPTI_METRIC_TYPE_THROUGHPUT};

}  // namespace

MetricHost::MetricHost(const MetricFunctions& functions, const Chip& chip)
    : functions_(functions), chip_(chip) {
    auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    params.profilerType = chip_.use;
    params.pChipName = chip_.name.c_str();
    params.pCounterAvailabilityImage = chip_.available.empty() ? nullptr : chip_.available.data();
    check("cuptiProfilerHostInitialize", functions_.host_initialize(&params));
    host_ = params.pHostObject;
}

MetricHost::~MetricHost() {
    auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    params.pHostObject = host_;
    functions_.host_deinitialize(&params);
}

std::vector<MetricHost::Base> MetricHost::bases() const {
    std::vector<Base> bases;
    for (const CUpti_MetricType type : metric_types) {
        auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params);
        params.pHostObject = host_;
        params.metricType = type;
        check("cuptiProfilerHostGetBaseMetrics", functions_.base_metrics(&params));
        for (size_t index = 0; index < params.numMetrics; ++index)
            bases.push_back({params.ppMetricNames[index], type});
    }
    return bases;
}

std::vector<std::string> MetricHost::base_names() const {
    std::vector<std::string> names;
    for (const Base& base : bases()) names.push_back(base.name);
    return names;
}

// By trying it: properties are told of names without an ending since CUDA 13, and of those with a wrong one
// since 13.1.
bool MetricHost::knows(const std::string& metric) const {
    MetricHost other(functions_, chip_);
    return other.add({metric}) == CUPTI_SUCCESS;
}

std::vector<std::string> MetricHost::named_like(const std::string& metric) const {
    std::vector<std::string> names;
    for (const Base& base : bases())
        if (metric == base.name || metric.starts_with(base.name + "."))
            for (const std::string& ending : endings_of(base)) names.push_back(base.name + ending);
    return names;
}

// Before CUDA 13 only whole names are understood: then it is tried with endings that most have.
std::vector<std::string> MetricHost::endings_of(const Base& base) const {
    for (const char* ending : {"", ".sum", ".pct", ".ratio", ".avg.pct_of_peak_sustained_elapsed"}) {
        const std::string name = base.name + ending;
        auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params);
        params.pHostObject = host_;
        params.metricType = base.type;
        params.pMetricName = name.c_str();
        if (functions_.sub_metrics(&params) == CUPTI_SUCCESS && params.numOfSubmetrics != 0)
            return {params.ppSubMetrics, params.ppSubMetrics + params.numOfSubmetrics};
    }
    return {};
}

CUptiResult MetricHost::add(const std::vector<std::string>& metrics) {
    metrics_ = metrics;
    pointers_.clear();
    for (const std::string& metric : metrics_) pointers_.push_back(metric.c_str());
    auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    params.pHostObject = host_;
    params.ppMetricNames = metric_pointers();
    params.numMetrics = pointers_.size();
    return functions_.add_metrics(&params);
}

void MetricHost::choose(const std::vector<std::string>& metrics) {
    check("cuptiProfilerHostConfigAddMetrics", add(metrics));
    auto size = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_;
    check("cuptiProfilerHostGetConfigImageSize", functions_.config_size(&size));
    config_.resize(size.configImageSize);
    auto image = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    check("cuptiProfilerHostGetConfigImage", functions_.config_image(&image));
    auto passes = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
    passes.configImageSize = config_.size();
    passes.pConfigImage = config_.data();
    check("cuptiProfilerHostGetNumOfPasses", functions_.passes(&passes));
    passes_ = passes.numOfPasses;
}

std::vector<double> MetricHost::evaluate(const std::vector<uint8_t>& counter_data, size_t range) const {
    std::vector<double> values(metrics_.size());
    auto params = KINETOGRAPH_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    params.pHostObject = host_;
    params.pCounterDataImage = counter_data.data();
    params.counterDataImageSize = counter_data.size();
    params.rangeIndex = range;
    params.ppMetricNames = metric_pointers();
    params.numMetrics = pointers_.size();
    params.pMetricValues = values.data();
    check("cuptiProfilerHostEvaluateToGpuValues", functions_.evaluate(&params));
    return values;
}

std::vector<size_t> passes_of_each(const MetricFunctions& functions, const Chip& chip,
                                   const std::vector<std::string>& metrics) {
    std::vector<size_t> passes;
    for (const std::string& metric : metrics) {
        MetricHost host(functions, chip);
        host.choose({metric});
        passes.push_back(host.passes());
    }
    return passes;
}

}  // namespace kinetograph::collect::cupti
