// Stands in for the collector where the headers of CUPTI were not found.
#include "collect/cupti/collector.h"

namespace kinetograph::collect {

void prepare_cuda() {}

uint64_t start_cuda(const CudaOptions&) {
    return 0;
}

void flush_cuda(uint64_t, bool) {}

void stop_cuda(uint64_t) {}

void push_external_id(ExternalId, uint64_t) {}

void pop_external_id(ExternalId) {}

void on_late_refusal(void (*)()) {}

MetricAnswer open_sampling(const SamplingOptions&) {
    return {MetricProblem::unsupported, "built without the headers of CUPTI"};
}

void resume_sampling() {}

void pause_sampling() {}

void close_sampling() {}

CudaStatus cuda_status() {
    CudaStatus status;
    status.state = CudaState::not_built;
    status.reason = "built without the headers of CUPTI";
    return status;
}

bool cuda_is_taken_over() {
    return false;
}

bool cuda_graph_is_captured() {
    return false;
}

bool cuda_is_mapped() {
    return false;
}

}  // namespace kinetograph::collect
