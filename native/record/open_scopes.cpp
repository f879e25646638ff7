#include "record/open_scopes.h"

#include <algorithm>

namespace kinetograph::record {

namespace {

OpenScopeCopy copy_of(const OpenScope& scope, uint16_t lane) {
    const uint64_t packed = scope.name_and_meta.load(std::memory_order_relaxed);
    return {scope.start.load(std::memory_order_relaxed), uint32_t(packed >> 32), uint32_t(packed), lane};
}

}  // namespace

void copy_open_scopes(const Lane& lane, std::vector<OpenScopeCopy>& into) {
    if (!lane.extent) return;
    const std::atomic<uint64_t>& state = lane.extent.header->state;
    const auto* scopes = reinterpret_cast<const OpenScope*>(lane.extent.header + 1);
    const size_t before_us = into.size();
    uint32_t lowest = UINT32_MAX;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        into.resize(before_us);
        const uint64_t before = state.load(std::memory_order_acquire);
        for (uint32_t i = 0; i < uint32_t(before); ++i) into.push_back(copy_of(scopes[i], lane.number));
        std::atomic_thread_fence(std::memory_order_acquire);
        const uint64_t after = state.load(std::memory_order_relaxed);
        if (before == after) return;
        lowest = std::min({lowest, uint32_t(before), uint32_t(after)});
    }
    into.resize(before_us + std::min<size_t>(into.size() - before_us, lowest > 0 ? lowest - 1 : 0));
}

void forget_ended(std::vector<OpenScopeCopy>& open, const RecordRange& ended) {
    for_each_record(ended, [&](const Record& record) {
        std::erase_if(open, [&](const OpenScopeCopy& scope) {
            return scope.is(record.start, record.name, record.lane);
        });
    });
}

bool holds(const std::vector<OpenScopeCopy>& scopes, const OpenScopeCopy& wanted) {
    return std::any_of(scopes.begin(), scopes.end(), [&](const OpenScopeCopy& scope) {
        return scope.is(wanted.start, wanted.name, wanted.lane);
    });
}

void keep_open_at_leave(const std::vector<OpenScopeCopy>& left, std::vector<OpenScopeCopy>& open) {
    std::vector<OpenScopeCopy> kept;
    for (const OpenScopeCopy& scope : left)
        if (!holds(open, scope)) kept.push_back(scope);
    open.insert(open.begin(), kept.begin(), kept.end());
}

}  // namespace kinetograph::record
