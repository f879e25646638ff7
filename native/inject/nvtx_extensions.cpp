// The extensions of NVTX: payloads that are described by schemas, and counters. Each library that was built
// with one of them asks for it once.
#include <algorithm>

#include "inject/counted_note.h"
#include "inject/events.h"
#include "inject/names.h"
#include "inject/nested_ranges.h"
#include "inject/nvtx_counters.h"
#include "inject/nvtx_domains.h"
#include "inject/nvtx_payload.h"
#include "inject/nvtx_schemas.h"
#include "inject/record_table.h"

namespace kinetograph::inject {

namespace {

using Handle = nvtxDomainHandle_t;
using Payloads = const nvtxPayloadData_t*;

// An event that is told by payloads alone.
Annotation annotation_of(const Domain& domain, Payloads payloads, size_t count) {
    const DecodedPayload decoded = decode_payloads(domain, payloads, count);
    return {domain, name_id(domain, decoded.message), "\"payload\":" + decoded.json};
}

// What the end of an event adds to it, and which name replaces the first.
Annotation more_of(const Domain& domain, Payloads payloads, size_t count) {
    if (!payloads || count == 0) return {domain};
    const DecodedPayload decoded = decode_payloads(domain, payloads, count);
    const uint32_t name = decoded.message.empty() ? 0 : name_id(domain, decoded.message);
    return {domain, name, "\"end payload\":" + decoded.json};
}

void mark_payload(Handle handle, Payloads payloads, size_t count) noexcept try {
    const Domain& domain = domain_of(handle);
    if (is_listening()) mark(annotation_of(domain, payloads, count));
} catch (...) {
}

int push_payload(Handle handle, Payloads payloads, size_t count) noexcept try {
    const Domain& domain = domain_of(handle);
    return is_listening() ? push_range(annotation_of(domain, payloads, count)) : push_unrecorded(domain);
} catch (...) {
    return -1;
}

int pop_payload(Handle handle, Payloads payloads, size_t count) noexcept try {
    const Domain& domain = domain_of(handle);
    if (!is_listening()) return pop_range(domain);
    return pop_range(domain, more_of(domain, payloads, count).args);
} catch (...) {
    return -1;
}

nvtxRangeId_t start_payload(Handle handle, Payloads payloads, size_t count) noexcept try {
    const Domain& domain = domain_of(handle);
    const uint64_t id = next_range_id();
    if (is_listening()) begin_range(id, annotation_of(domain, payloads, count));
    return id;
} catch (...) {
    return 0;
}

void end_payload(Handle handle, nvtxRangeId_t id, Payloads payloads, size_t count) noexcept try {
    const Domain& domain = domain_of(handle);
    if (is_listening()) end_range(id, more_of(domain, payloads, count));
} catch (...) {
}

uint64_t register_payload_schema(Handle domain, const nvtxPayloadSchemaAttr_t* schema) noexcept try {
    return register_schema(domain_of(domain), schema);
} catch (...) {
    return 0;
}

uint64_t register_payload_enum(Handle domain, const nvtxPayloadEnumAttr_t* enumeration) noexcept try {
    return register_enum(domain_of(domain), enumeration);
} catch (...) {
    return 0;
}

uint64_t register_domain_counter(Handle domain, const nvtxCounterAttr_t* counter) noexcept try {
    return register_counter(domain_of(domain), counter);
} catch (...) {
    return NVTX_COUNTER_ID_NONE;
}

template <class Number>
void sample_number(Handle handle, uint64_t counter, Number value) noexcept try {
    const Domain& domain = domain_of(handle);
    if (wants_samples()) sample_counter(domain, counter, double(value));
} catch (...) {
}

void sample_values(Handle handle, uint64_t counter, const void* values, size_t bytes) noexcept try {
    const Domain& domain = domain_of(handle);
    if (wants_samples()) sample_counter(domain, counter, values, bytes);
} catch (...) {
}

// That it is as it was, or could not be had, is nothing to be shown.
void sample_no_value(Handle handle, uint64_t counter, uint8_t reason) noexcept try {
    const Domain& domain = domain_of(handle);
    if (reason == NVTX_COUNTER_SAMPLE_ZERO && is_listening()) sample_zero(domain, counter);
} catch (...) {
}

void count_lost(size_t count) {
    static CountedNote lost{"annotations",
                            "values or events that NVTX gave with times of their own were not recorded"};
    if (count != 0) lost.count(count);
}

void refuse_events(Handle handle, const nvtxEventBatch_t* batch) noexcept try {
    if (!batch || !is_listening()) return;
    const size_t one = size_of_type(domain_of(handle), batch->eventSchemaId);
    count_lost(std::max<size_t>(one != 0 ? batch->size / one : 1, 1));
} catch (...) {
}

void submit_batch(Handle handle, const nvtxCounterBatch_t* batch) noexcept try {
    const Domain& domain = domain_of(handle);
    if (batch && wants_samples()) count_lost(sample_batch(domain, *batch));
} catch (...) {
}

class Slots {
public:
    explicit Slots(const nvtxExtModuleInfo_t& module)
        : slots_(module.segmentsCount != 0 ? module.segments[0].functionSlots : nullptr),
          count_(slots_ ? module.segments[0].slotCount : 0) {}

    template <class Handler>
    void put(size_t id, Handler* handler) {
        if (id < count_) slots_[id] = reinterpret_cast<intptr_t>(handler);
    }

private:
    intptr_t* slots_;
    size_t count_;
};

void fill_payload(Slots slots) {
    slots.put(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, register_payload_schema);
    slots.put(NVTX3EXT_CBID_nvtxPayloadEnumRegister, register_payload_enum);
    slots.put(NVTX3EXT_CBID_nvtxMarkPayload, mark_payload);
    slots.put(NVTX3EXT_CBID_nvtxRangePushPayload, push_payload);
    slots.put(NVTX3EXT_CBID_nvtxRangePopPayload, pop_payload);
    slots.put(NVTX3EXT_CBID_nvtxRangeStartPayload, start_payload);
    slots.put(NVTX3EXT_CBID_nvtxRangeEndPayload, end_payload);
    // Also while nobody records: callers may remember the answer.
    // Deferred events are not recorded, but not forgotten.
    slots.put(NVTX3EXT_CBID_nvtxTimestampGet, +[] { return int64_t(recorder->ticks()); });
    slots.put(NVTX3EXT_CBID_nvtxEventSubmit, +[](Handle, Payloads, size_t) { count_lost(1); });
    slots.put(NVTX3EXT_CBID_nvtxEventBatchSubmit, refuse_events);
    slots.put(NVTX3EXT_CBID_nvtxDomainIsEnabled, +[](Handle) -> uint8_t { return 1; });
}

void fill_counters(Slots slots) {
    slots.put(NVTX3EXT_CBID_nvtxCounterRegister, register_domain_counter);
    slots.put(NVTX3EXT_CBID_nvtxCounterSampleInt64, sample_number<int64_t>);
    slots.put(NVTX3EXT_CBID_nvtxCounterSampleFloat64, sample_number<double>);
    slots.put(NVTX3EXT_CBID_nvtxCounterSample, sample_values);
    slots.put(NVTX3EXT_CBID_nvtxCounterSampleNoValue, sample_no_value);
    slots.put(NVTX3EXT_CBID_nvtxCounterBatchSubmit, submit_batch);
}

}  // namespace

}  // namespace kinetograph::inject

// A module that is refused makes its library silent altogether, so also those are taken that we do nothing
// with.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
    using namespace kinetograph::inject;
    if (!recorder || !module) return 0;
    if (module->moduleId == NVTX_EXT_PAYLOAD_MODULEID) fill_payload(Slots(*module));
    if (module->moduleId == NVTX_EXT_COUNTERS_MODULEID) fill_counters(Slots(*module));
    return 1;
}
