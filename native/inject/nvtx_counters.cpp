#include "inject/nvtx_counters.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "inject/names.h"
#include "inject/nvtx_schemas.h"
#include "inject/record_table.h"
#include "inject/text.h"

namespace kinetograph::inject {

namespace {

struct Counter {
    std::string name;
    uint64_t type;
};

struct Counters {
    std::mutex mutex;
    std::map<std::pair<const Domain*, uint64_t>, std::unique_ptr<const Counter>> all;
    uint64_t next_id = NVTX_COUNTER_ID_DYNAMIC_START;
};

// Never destroyed: libraries count while the process exits.
Counters& counters() {
    static Counters& all = *new Counters;
    return all;
}

const Counter* counter_of(const Domain& domain, uint64_t id) {
    Counters& known = counters();
    std::lock_guard lock(known.mutex);
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

bool read_number(uint64_t type, const char* data, size_t bytes, double& value) {
    switch (type) {
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
            return read<float>(data, bytes, value);
        case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
            return read<double>(data, bytes, value);
        default:
            return false;
    }
}

}  // namespace

uint64_t register_counter(const Domain& domain, const nvtxCounterAttr_t* attributes) {
    if (!attributes || attributes->structSize < sizeof *attributes) return NVTX_COUNTER_ID_NONE;
    Counters& known = counters();
    std::lock_guard lock(known.mutex);
    const uint64_t id =
        attributes->counterId != NVTX_COUNTER_ID_NONE ? attributes->counterId : known.next_id++;
    known.all.try_emplace({&domain, id},
                          std::make_unique<Counter>(Counter{utf8(attributes->name), attributes->schemaId}));
    return id;
}

void sample_counter(const Domain& domain, uint64_t id, double value) {
    if (const Counter* counter = counter_of(domain, id))
        recorder->annotation_counter(name_id(domain, counter->name), value);
}

void sample_counter(const Domain& domain, uint64_t id, const void* values, size_t bytes) {
    const Counter* counter = counter_of(domain, id);
    if (!counter || !values) return;
    const auto* data = static_cast<const char*>(values);
    double value;
    if (read_number(counter->type, data, bytes, value)) return sample_counter(domain, id, value);
    const Schema* group = schema_of(domain, counter->type);
    if (!group) return;
    for (const SchemaEntry& entry : group->entries)
        if (entry.offset < bytes && read_number(entry.type, data + entry.offset, bytes - entry.offset, value))
            recorder->annotation_counter(name_id(domain, counter->name + "." + entry.name), value);
}

}  // namespace kinetograph::inject
