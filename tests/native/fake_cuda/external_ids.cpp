// Ids that a program pushes to the fake CUPTI: a stack for each thread and kind.
#include <cupti.h>

#include <map>
#include <vector>

#include "libcupti.h"

namespace {

thread_local std::map<int, std::vector<uint64_t>> ids;

}  // namespace

void fake::add_external_ids(uint32_t correlation) {
    for (const auto& [kind, stack] : ids) {
        if (stack.empty()) continue;
        CUpti_ActivityExternalCorrelation record{};
        record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
        record.externalKind = CUpti_ExternalCorrelationKind(kind);
        record.externalId = stack.back();
        record.correlationId = correlation;
        add_record(&record, sizeof record);
    }
}

extern "C" __attribute__((visibility("default"))) CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    ids[kind].push_back(id);
    return CUPTI_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
    if (ids[kind].empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    *last = ids[kind].back();
    ids[kind].pop_back();
    return CUPTI_SUCCESS;
}
