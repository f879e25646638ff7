#include "inject/nvtx_meaning.h"

#include <cstddef>
#include <cstdint>

namespace kinetograph::inject {

namespace {

void see(const nvtxSemanticsTime_t& time, Meaning& meaning) {
    meaning.has_our_times = time.timeDomainId == NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED;
}

void see(const nvtxSemanticsCounter_t& counter, Meaning& meaning) {
    constexpr uint64_t type_bits = 3 << 4;
    if (counter.flags & type_bits)
        meaning.is_difference = (counter.flags & type_bits) == NVTX_COUNTER_FLAG_VALUETYPE_DELTA;
    if (counter.unitScaleNumerator != 0 && counter.unitScaleDenominator != 0)
        meaning.scale = double(counter.unitScaleNumerator) / double(counter.unitScaleDenominator);
}

template <class T>
std::optional<T> either(const std::optional<T>& first, const std::optional<T>& second) {
    return first ? first : second;
}

}  // namespace

Meaning Meaning::within(const Meaning& group) const {
    return {either(has_our_times, group.has_our_times), either(is_difference, group.is_difference),
            either(scale, group.scale)};
}

Meaning meaning_of(const nvtxSemanticsHeader_t* semantics) {
    Meaning meaning;
    for (; semantics; semantics = semantics->next) {
        if (semantics->semanticId == NVTX_SEMANTIC_ID_TIME_V1)
            see(*reinterpret_cast<const nvtxSemanticsTime_t*>(semantics), meaning);
        if (semantics->semanticId == NVTX_SEMANTIC_ID_COUNTERS_V1 &&
            semantics->structSize >= offsetof(nvtxSemanticsCounter_t, limitType))
            see(*reinterpret_cast<const nvtxSemanticsCounter_t*>(semantics), meaning);
    }
    if (meaning.is_difference.value_or(false)) are_differences_told = true;
    return meaning;
}

}  // namespace kinetograph::inject
