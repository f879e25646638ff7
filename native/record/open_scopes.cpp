#include "record/open_scopes.h"

#include <algorithm>

#include "record/told_operators.h"

namespace kinetograph::record {

namespace {

OpenScopeCopy copy_of(const OpenScope& scope, uint16_t lane) {
    const uint64_t packed = scope.name_and_meta.load(std::memory_order_relaxed);
    return {scope.start.load(std::memory_order_relaxed), uint32_t(packed >> 32), uint32_t(packed), lane};
}

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

}  // namespace

std::vector<OpenScopeCopy> open_scopes_of(ThreadBuffer& thread) {
    std::vector<OpenScopeCopy> open;
    if (thread.forget_open_scopes) return open;
    for_each_stack(thread, [&](const Lane& lane) { copy_open_scopes(lane, open); });
    const ExtentHeader* told[] = {thread.told.extent.header};
    if (thread.told.extent && !open.empty()) add_told(told, open);
    return open;
}

void forget_ended(std::vector<OpenScopeCopy>& open, const RecordRange& ended) {
    const ScopeSet copied(open);
    ScopeSet seen_twice;
    for_each_record(ended, [&](const Record& record) {
        if (copied.contains(record)) seen_twice.insert(record);
    });
    forget(open, seen_twice);
}

void keep_open_at_leave(const std::vector<OpenScopeCopy>& left, std::vector<OpenScopeCopy>& open) {
    const ScopeSet still_open(open);
    std::vector<OpenScopeCopy> all;
    for (const OpenScopeCopy& scope : left)
        if (!still_open.contains(scope)) all.push_back(scope);
    all.insert(all.end(), open.begin(), open.end());
    open = std::move(all);
}

}  // namespace kinetograph::record
