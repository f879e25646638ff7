#include "inject/nvtx_counters.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "inject/library_lock.h"
#include "inject/names.h"
#include "inject/narrow_float.h"
#include "inject/nvtx_schemas.h"
#include "inject/record_table.h"
#include "inject/text.h"

namespace kinetograph::inject {

namespace {

// How values are meant.
struct Meaning {
    bool has_our_times = true;
    bool is_difference = false;  // to the value before
    double scale = 1;
};

struct Counter {
    std::string name;
    uint64_t type;
    Meaning meaning;
    std::map<std::string, double> totals;  // of differences, by name; with the lock
};

void see(const nvtxSemanticsTime_t& time, Meaning& meaning) {
    meaning.has_our_times = time.timeDomainId == NVTX_TIMESTAMP_TYPE_NONE ||
                            time.timeDomainId == NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED;
}

void see(const nvtxSemanticsCounter_t& counter, Meaning& meaning) {
    constexpr uint64_t type_bits = 3 << 4;
    meaning.is_difference = (counter.flags & type_bits) == NVTX_COUNTER_FLAG_VALUETYPE_DELTA;
    if (counter.unitScaleNumerator != 0 && counter.unitScaleDenominator != 0)
        meaning.scale = double(counter.unitScaleNumerator) / double(counter.unitScaleDenominator);
}

// Without a word about them, times are those of the tool, and values stand for themselves.
Meaning meaning_of(const nvtxSemanticsHeader_t* semantics) {
    Meaning meaning;
    for (; semantics; semantics = semantics->next) {
        if (semantics->semanticId == NVTX_SEMANTIC_ID_TIME_V1)
            see(*reinterpret_cast<const nvtxSemanticsTime_t*>(semantics), meaning);
        if (semantics->semanticId == NVTX_SEMANTIC_ID_COUNTERS_V1 &&
            semantics->structSize >= offsetof(nvtxSemanticsCounter_t, limitType))
            see(*reinterpret_cast<const nvtxSemanticsCounter_t*>(semantics), meaning);
    }
    return meaning;
}

struct Counters {
    std::map<std::pair<const Domain*, uint64_t>, std::unique_ptr<Counter>> all;
    uint64_t next_id = NVTX_COUNTER_ID_DYNAMIC_START;
};

// Never destroyed: libraries count while the process exits.
Counters& counters() {
    static Counters& all = *new Counters;
    return all;
}

Counter* counter_of(const Domain& domain, uint64_t id) {
    Counters& known = counters();
    std::lock_guard lock(library_mutex);
    const auto counter = known.all.find({&domain, id});
    return counter == known.all.end() ? nullptr : counter->second.get();
}

template <class T>
bool read(const char* data, size_t bytes, double& value) {
    T exact;
    if (bytes < sizeof exact) return false;
    std::memcpy(&exact, data, sizeof exact);
    value = double(exact);
    return true;
}

bool read(const char* data, size_t bytes, const NarrowFloat& type, double& value) {
    uint16_t bits;
    if (bytes < sizeof bits) return false;
    std::memcpy(&bits, data, sizeof bits);
    value = type.value(bits);
    return true;
}

bool read_number(uint64_t type, const char* data, size_t bytes, double& value) {
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
            return read<int8_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
            return read<uint8_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
            return read<int16_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
            return read<uint16_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_INT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
            return read<int32_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
            return read<uint32_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
            return read<int64_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
            return read<uint64_t>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
            return read<float>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
            return read<double>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
            return read<long double>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
            return read(data, bytes, float16, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
            return read(data, bytes, bfloat16, value);
        default:
            return false;
    }
}

}  // namespace

uint64_t register_counter(const Domain& domain, const nvtxCounterAttr_t* attributes) {
    if (!attributes || attributes->structSize < sizeof *attributes) return NVTX_COUNTER_ID_NONE;
    Counters& known = counters();
    std::lock_guard lock(library_mutex);
    const uint64_t id =
        attributes->counterId != NVTX_COUNTER_ID_NONE ? attributes->counterId : known.next_id++;
    known.all.try_emplace(
        {&domain, id},
        std::make_unique<Counter>(
            Counter{utf8(attributes->name), attributes->schemaId, meaning_of(attributes->semantics), {}}));
    return id;
}

namespace {

constexpr const char* unreadable =
    "values of NVTX counters were not recorded: they are of a type that is no number, or cut short";

void record(const Domain& domain, Counter& counter, const std::string& name, uint64_t ticks, double value) {
    value *= counter.meaning.scale;
    if (counter.meaning.is_difference) {
        std::lock_guard lock(library_mutex);
        value = counter.totals[name] += value;
    }
    recorder->annotation_counter(name_id(domain, name), ticks, value);
}

// Calls visit(name, type, offset) for each number that a sample consists of.
template <class Visit>
void for_each_number(const Domain& domain, const Counter& counter, Visit&& visit) {
    const Schema* group = schema_of(domain, counter.type);
    if (!group || group->is_alias())
        return visit(counter.name, group ? group->entries[0].type : counter.type, 0);
    for (const SchemaEntry& entry : group->entries)
        visit(counter.name + "." + entry.name, entry.type, entry.offset);
}

void record_values(const Domain& domain, Counter& counter, uint64_t ticks, const char* data, size_t bytes) {
    for_each_number(domain, counter, [&](const std::string& name, uint64_t type, size_t offset) {
        double value;
        if (offset < bytes && read_number(type, data + offset, bytes - offset, value))
            record(domain, counter, name, ticks, value);
        else
            recorder->note("annotations", unreadable, 1);
    });
}

}  // namespace

void sample_counter(const Domain& domain, uint64_t id, double value) {
    if (Counter* counter = counter_of(domain, id))
        record(domain, *counter, counter->name, recorder->ticks(), value);
}

void sample_counter(const Domain& domain, uint64_t id, const void* values, size_t bytes) {
    Counter* counter = counter_of(domain, id);
    if (counter && values)
        record_values(domain, *counter, recorder->ticks(), static_cast<const char*>(values), bytes);
}

void sample_zero(const Domain& domain, uint64_t id) {
    Counter* counter = counter_of(domain, id);
    if (!counter) return;
    const uint64_t now = recorder->ticks();
    for_each_number(domain, *counter, [&](const std::string& name, uint64_t, size_t) {
        record(domain, *counter, name, now, 0);
    });
}

namespace {

// nvtxTimestampGet is in this library: it gave no time before there was one, nor one that is still to come.
const uint64_t loaded_at = recorder ? recorder->ticks() : 0;

constexpr const char* of_another_clock =
    "values of NVTX counters had times that nvtxTimestampGet did not give: they are not in the trace, or "
    "where they do not belong";

// Those that it gave while nobody recorded are none of this trace's, and no loss.
void tell_of_another_clock(const int64_t* times, size_t count) {
    const uint64_t now = recorder->ticks();
    const auto is_wrong = [&](int64_t time) { return uint64_t(time) < loaded_at || uint64_t(time) > now; };
    const auto wrong = std::count_if(times, times + count, is_wrong);
    if (wrong != 0) recorder->note("annotations", of_another_clock, uint32_t(wrong));
}

}  // namespace

bool sample_batch(const Domain& domain, const nvtxCounterBatch_t& batch) {
    Counter* counter = counter_of(domain, batch.counterId);
    const size_t one = counter ? size_of_type(domain, counter->type) : 0;
    const auto* values = static_cast<const char*>(batch.counters);
    if (!counter || one == 0 || !counter->meaning.has_our_times || !values || !batch.timestamps) return false;
    const size_t count = batch.countersSize / one;
    if (batch.timestampsSize < count * sizeof *batch.timestamps) return false;
    tell_of_another_clock(batch.timestamps, count);
    for (size_t i = 0; i < count; ++i)
        record_values(domain, *counter, uint64_t(batch.timestamps[i]), values + i * one, one);
    return true;
}

}  // namespace kinetograph::inject
