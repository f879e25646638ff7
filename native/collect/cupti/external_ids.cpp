#include "collect/cupti/external_ids.h"

#include <string_view>

namespace kinetograph::collect::cupti {

namespace {

constexpr size_t most_waiting = 100'000;  // for calls that never came

// Kineto pushes ids of operators as CUSTOM0, and of what users name as CUSTOM1. Not "External id": under that
// key files number events of their own.
std::string_view key_of(uint32_t kind) {
    return kind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1 ? "User correlation id"
                                                           : "External correlation id";
}

}  // namespace

void ExternalIds::see(const CUpti_ActivityExternalCorrelation& record) {
    if (members_.size() >= most_waiting) members_.clear();
    const uint32_t correlation = record.correlationId;
    std::string& text = members_[correlation];
    if (!text.empty()) text += ',';
    text.append("\"").append(key_of(record.externalKind)).append("\":");
    text += std::to_string(record.externalId);
}

std::string ExternalIds::take(uint32_t correlation) {
    if (members_.empty()) return {};
    auto found = members_.extract(correlation);
    return found ? std::move(found.mapped()) : std::string();
}

}  // namespace kinetograph::collect::cupti
