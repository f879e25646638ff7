// Stands in for the counters where the headers of CUPTI were not found.
#include "collect/cupti/metrics.h"

namespace kinetograph::collect {

void prepare_metrics() {}

MetricAnswer open_metrics(const MetricOptions&) {
    return {MetricProblem::unsupported, "built without the headers of CUPTI"};
}

void resume_metrics() {}
void pause_metrics(bool) {}
void close_metrics() {}
void begin_metric_range(std::string_view) {}
void end_metric_range() {}

}  // namespace kinetograph::collect
