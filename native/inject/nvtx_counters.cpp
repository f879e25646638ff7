#include "inject/nvtx_counters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "inject/counted_note.h"
#include "inject/library_lock.h"
#include "inject/names.h"
#include "inject/narrow_float.h"
#include "inject/nvtx_blob.h"
#include "inject/nvtx_layout.h"
#include "inject/nvtx_schemas.h"
#include "inject/record_table.h"
#include "inject/text.h"

namespace kinetograph::inject {

namespace {

// One number of a sample.
struct Field {
    std::string name;
    uint64_t type;
    Meaning meaning;
    size_t entry = 0;       // of a group
    bool is_number = true;  // as far as its flags say
    double total = 0;       // of differences; with the lock
    uint64_t latest = 0;    // when one was added; with the lock
};

struct Counter {
    Field whole;                // what it is unless it is a group
    std::vector<Field> fields;  // of a group; with the lock, and the same once they are there
};

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
bool read(Blob bytes, double& value) {
    T exact;
    if (!bytes.read(exact)) return false;
    value = double(exact);
    return true;
}

bool read(Blob bytes, const NarrowFloat& type, double& value) {
    uint16_t bits;
    if (!bytes.read(bits)) return false;
    value = type.value(bits);
    return true;
}

bool read_number(uint64_t type, Blob bytes, double& value) {
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
            return read<int8_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
            return read<uint8_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
            return read<int16_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
            return read<uint16_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_INT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
            return read<int32_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
            return read<uint32_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
            return read<int64_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
            return read<uint64_t>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
            return read<float>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
            return read<double>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
            return read<long double>(bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
            return read(bytes, float16, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
            return read(bytes, bfloat16, value);
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
    auto counter = std::make_unique<Counter>();
    counter->whole = {utf8(attributes->name), attributes->schemaId, meaning_of(attributes->semantics)};
    known.all.try_emplace({&domain, id}, std::move(counter));
    return id;
}

namespace {

CountedNote unreadable{"annotations",
                       "values of NVTX counters were not recorded: they are of a type that is no number, cut "
                       "short, infinite differences, or of a counter that nobody registered"};

Counter* registered_counter(const Domain& domain, uint64_t id) {
    Counter* counter = counter_of(domain, id);
    if (!counter) unreadable.count();
    return counter;
}

bool is_difference(const Field& field) {
    return field.meaning.is_difference.value_or(false);
}

// When a sample was taken: a moment ago, or as a batch says.
struct Time {
    uint64_t ticks;
    bool is_now = false;
    bool is_ours = true;

    bool is_recorded() const { return is_ours && is_listening(); }
};

Time now() {
    return {recorder->ticks(), true};
}

// `value` is then what they add up to, and has its time: that of threads is in the same order. False for one
// that would spoil it for good.
bool add_difference(Field& field, Time& time, double& value) {
    std::lock_guard lock(library_mutex);
    if (time.is_now) time.ticks = field.latest = std::max(recorder->ticks(), field.latest + 1);
    value += field.total;
    if (std::isfinite(value)) field.total = value;
    return std::isfinite(value);
}

// What differences add up to goes on from those that are not recorded.
void record(const Domain& domain, Field& field, Time time, double value) {
    value *= field.meaning.scale.value_or(1);
    if (is_difference(field) && !add_difference(field, time, value)) return unreadable.count();
    if (time.is_recorded()) recorder->annotation_counter(name_id(domain, field.name), time.ticks, value);
}

bool is_plain(const SchemaEntry& entry) {
    return entry.array() == 0 && !entry.is_pointer() && !entry.is_offset();
}

std::string name_of_field(const Schema& group, size_t entry, const Field& whole) {
    if (group.is_alias()) return whole.name;
    const std::string& name = group.entries[entry].name;
    return whole.name + "." + (name.empty() ? std::to_string(entry) : name);
}

// The time of a sample is none of its numbers. Nobody tells which entry of a union is meant.
std::vector<Field> fields_in(const Schema& group, const Field& whole) {
    std::vector<Field> fields;
    for (size_t i = 0; i < group.entries.size(); ++i) {
        const SchemaEntry& entry = group.entries[i];
        if (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) continue;
        fields.push_back({name_of_field(group, i, whole), entry.type, entry.meaning.within(whole.meaning), i,
                          is_plain(entry) && !group.is_union()});
    }
    return fields;
}

// Made when the first sample is taken: the schema may be registered behind the counter.
std::vector<Field>& fields_of(Counter& counter, const Schema& group) {
    std::lock_guard lock(library_mutex);
    if (counter.fields.empty()) counter.fields = fields_in(group, counter.whole);
    return counter.fields;
}

// Calls visit(field, its bytes) for each number that a sample consists of.
template <class Visit>
void for_each_number(const Domain& domain, Counter& counter, Blob sample, Visit&& visit) {
    const Schema* group = schema_of(domain, counter.whole.type);
    if (!group) return visit(counter.whole, sample);
    const Placed placed = Layout(domain, {}).place(*group, sample);
    std::vector<Field>& fields = fields_of(counter, *group);
    for (Field& field : fields) visit(field, placed.at(group->entries[field.entry]));
}

void record_values(const Domain& domain, Counter& counter, Time time, Blob sample) {
    for_each_number(domain, counter, sample, [&](Field& field, Blob bytes) {
        double value;
        if (!time.is_recorded() && !is_difference(field)) return;
        if (field.is_number && bytes.data && read_number(field.type, bytes, value))
            record(domain, field, time, value);
        else
            unreadable.count();
    });
}

}  // namespace

void sample_counter(const Domain& domain, uint64_t id, double value) {
    if (Counter* counter = registered_counter(domain, id)) record(domain, counter->whole, now(), value);
}

void sample_counter(const Domain& domain, uint64_t id, const void* values, size_t bytes) {
    Counter* counter = registered_counter(domain, id);
    if (counter && values) record_values(domain, *counter, now(), {static_cast<const char*>(values), bytes});
}

void sample_zero(const Domain& domain, uint64_t id) {
    Counter* counter = registered_counter(domain, id);
    if (!counter) return;
    const Time time = now();
    for_each_number(domain, *counter, {nullptr, 0}, [&](Field& field, Blob) {
        if (field.is_number) record(domain, field, time, 0);
    });
}

namespace {

constexpr const char* of_another_clock =
    "values of NVTX counters were not recorded: nvtxTimestampGet did not give their times";

// Those that it gave while nobody recorded are none of this trace's, and no loss.
bool is_our_time(uint64_t ticks, uint64_t latest) {
    return ticks >= loaded_at && ticks <= latest;
}

// As far as that can be told.
size_t values_in(const nvtxCounterBatch_t& batch, size_t one) {
    const size_t count =
        one != 0 ? batch.countersSize / one : batch.timestampsSize / sizeof *batch.timestamps;
    return std::max<size_t>(count, 1);
}

}  // namespace

size_t sample_batch(const Domain& domain, const nvtxCounterBatch_t& batch) {
    Counter* counter = counter_of(domain, batch.counterId);
    const size_t one = counter ? size_of_type(domain, counter->whole.type) : 0;
    const Blob values{static_cast<const char*>(batch.counters), batch.countersSize};
    const bool has_our_times = counter && counter->whole.meaning.has_our_times.value_or(true);
    if (one == 0 || !has_our_times || !values.data || !batch.timestamps) return values_in(batch, one);
    const size_t count = values.size / one;
    if (batch.timestampsSize < count * sizeof *batch.timestamps) return values_in(batch, one);
    const uint64_t latest = recorder->ticks();
    uint32_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        Time time{uint64_t(batch.timestamps[i])};
        time.is_ours = is_our_time(time.ticks, latest);
        wrong += !time.is_ours;
        record_values(domain, *counter, time, values.at(i * one).first(one));
    }
    if (wrong != 0) recorder->note("annotations", of_another_clock, wrong);
    return 0;
}

}  // namespace kinetograph::inject
