#include "collect/cupti/metric_choice.h"

namespace kinetograph::collect::cupti {

namespace {

MetricAnswer unknown_metrics(const MetricHost& host, const std::vector<std::string>& metrics) {
    MetricAnswer answer;
    for (const std::string& metric : metrics) {
        if (host.knows(metric)) continue;
        answer.problem = MetricProblem::unknown_metric;
        answer.metrics.push_back(metric);
        std::vector<std::string> alike = host.named_like(metric);
        answer.candidates.push_back(alike.empty() ? host.base_names() : std::move(alike));
    }
    return answer;
}

MetricProblem problem_of(CUptiResult result) {
    switch (result) {
        case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
            return MetricProblem::no_permission;
        case CUPTI_ERROR_HARDWARE_BUSY:
            return MetricProblem::in_use;
        default:
            return MetricProblem::unsupported;
    }
}

}  // namespace

std::unique_ptr<MetricHost> choose_metrics(const MetricFunctions& functions, const Chip& chip,
                                           const std::vector<std::string>& metrics, bool in_one_pass) {
    auto host = std::make_unique<MetricHost>(functions, chip);
    MetricAnswer unknown = unknown_metrics(*host, metrics);
    if (unknown.problem != MetricProblem::none) throw MetricRefusal(std::move(unknown));
    host->choose(metrics);
    const size_t passes = host->passes();
    if (in_one_pass && passes > 1)
        throw MetricRefusal({MetricProblem::too_many_passes,
                             std::to_string(passes),
                             metrics,
                             {},
                             passes_of_each(functions, chip, metrics)});
    return host;
}

MetricAnswer answer_of(const std::function<void()>& open) {
    try {
        open();
        return {};
    } catch (const MetricRefusal& refusal) {
        return refusal.answer;
    } catch (const MetricError& error) {
        return {problem_of(error.result), error.what()};
    } catch (const std::exception& error) {
        return {MetricProblem::unsupported, error.what()};
    }
}

}  // namespace kinetograph::collect::cupti
