#include "inject/nvtx_schemas.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "inject/library_lock.h"
#include "inject/nvtx_layout.h"
#include "inject/text.h"

namespace kinetograph::inject {

namespace {

using Key = std::pair<const Domain*, uint64_t>;

struct Registered {
    std::map<Key, std::unique_ptr<const Schema>> schemas;
    std::map<Key, std::unique_ptr<const Enumeration>> enumerations;
    std::multimap<Key, uint64_t> waiting;            // by what is late: schemas that hold it
    std::deque<std::unique_ptr<const Schema>> were;  // laid out again since: others may be reading them
    uint64_t next_id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;
};

// Never destroyed: payloads come while the process exits.
Registered& registered() {
    static Registered& all = *new Registered;
    return all;
}

// By-value, and so waited for by the schema that holds it.
std::vector<uint64_t> late_types_in(const Domain& domain, const Schema& schema) {
    std::vector<uint64_t> types;
    for (const SchemaEntry& entry : schema.entries)
        if (is_late(domain, entry)) types.push_back(entry.type);
    std::sort(types.begin(), types.end());
    types.erase(std::unique(types.begin(), types.end()), types.end());
    return types;
}

uint64_t keep(const Domain& domain, uint64_t id, std::unique_ptr<const Schema> schema) {
    const std::vector<uint64_t> late =
        schema->is_late ? late_types_in(domain, *schema) : std::vector<uint64_t>();
    Registered& all = registered();
    std::lock_guard lock(library_mutex);
    if (id == 0) id = all.next_id++;
    if (all.schemas.try_emplace({&domain, id}, std::move(schema)).second)
        for (const uint64_t type : late) all.waiting.insert({{&domain, type}, id});
    return id;
}

bool has_same_places(const Schema& a, const Schema& b) {
    const auto same_offset = [](const SchemaEntry& x, const SchemaEntry& y) { return x.offset == y.offset; };
    return a.size == b.size && a.align == b.align && a.has_places == b.has_places && a.is_late == b.is_late &&
           std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), same_offset);
}

// False where another thread was first, with what it knew.
bool replace(const Domain& domain, uint64_t id, const Schema* known, std::unique_ptr<const Schema> with) {
    Registered& all = registered();
    std::lock_guard lock(library_mutex);
    auto& schema = all.schemas[{&domain, id}];
    if (schema.get() != known) return false;
    all.were.push_back(std::exchange(schema, std::move(with)));
    return true;
}

// Whether that made a difference.
bool lay_out_again(const Domain& domain, uint64_t id) {
    for (;;) {
        const Schema* known = schema_of(domain, id);
        if (!known || !known->is_late) return false;
        auto fresh = std::make_unique<Schema>(*known);
        lay_out(domain, *fresh);
        if (has_same_places(*known, *fresh)) return false;
        if (replace(domain, id, known, std::move(fresh))) return true;
    }
}

std::vector<uint64_t> waiting_for(const Domain& domain, uint64_t type) {
    Registered& all = registered();
    std::lock_guard lock(library_mutex);
    std::vector<uint64_t> ids;
    const auto [begin, end] = all.waiting.equal_range({&domain, type});
    for (auto waiting = begin; waiting != end; ++waiting) ids.push_back(waiting->second);
    return ids;
}

// What has been registered now is known to those that hold it, and to those that hold these.
void tell_holders(const Domain& domain, uint64_t type) {
    lay_out_again(domain, type);  // what it holds may have been registered meanwhile
    for (std::vector<uint64_t> changed{type}; !changed.empty();) {
        const uint64_t one = changed.back();
        changed.pop_back();
        for (const uint64_t holder : waiting_for(domain, one))
            if (lay_out_again(domain, holder)) changed.push_back(holder);
    }
}

}  // namespace

uint64_t register_schema(const Domain& domain, const nvtxPayloadSchemaAttr_t* attributes) {
    const uint64_t mask = attributes ? attributes->fieldMask : 0;
    if (!(mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES) || !attributes->entries) return 0;
    auto schema = std::make_unique<Schema>();
    if (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME) schema->name = text_of(attributes->name);
    if (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE) schema->kind = attributes->type;
    for (size_t i = 0; i < attributes->numEntries; ++i) {
        const nvtxPayloadSchemaEntry_t& entry = attributes->entries[i];
        schema->entries.push_back({entry.flags, entry.type, std::string(text_of(entry.name)),
                                   entry.arrayOrUnionDetail, entry.offset, meaning_of(entry.semantics)});
    }
    const bool has_size = (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE) != 0;
    if (has_size && schema->kind != NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC)
        schema->size = attributes->payloadStaticSize;
    if (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) schema->packing = attributes->packAlign;
    lay_out(domain, *schema);
    const bool has_id = (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) != 0;
    const uint64_t id = keep(domain, has_id ? attributes->schemaId : 0, std::move(schema));
    tell_holders(domain, id);
    return id;
}

namespace {

// A program gives its values as 64 bits: those of -1 are more than a smaller enumeration has.
uint64_t bits_of(size_t bytes) {
    return bytes >= sizeof(uint64_t) ? UINT64_MAX : (uint64_t(1) << 8 * bytes) - 1;
}

uint64_t keep(const Domain& domain, uint64_t id, std::unique_ptr<const Enumeration> enumeration) {
    Registered& all = registered();
    std::lock_guard lock(library_mutex);
    const Key key{&domain, id != 0 ? id : all.next_id++};
    all.enumerations.try_emplace(key, std::move(enumeration));
    return key.second;
}

}  // namespace

uint64_t register_enum(const Domain& domain, const nvtxPayloadEnumAttr_t* attributes) {
    const uint64_t mask = attributes ? attributes->fieldMask : 0;
    if (!(mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES) || !attributes->entries) return 0;
    auto enumeration = std::make_unique<Enumeration>();
    enumeration->size = mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE ? attributes->sizeOfEnum : sizeof(int);
    const uint64_t bits = bits_of(enumeration->size);
    for (size_t i = 0; i < attributes->numEntries; ++i) {
        const nvtxPayloadEnum_t& entry = attributes->entries[i];
        enumeration->values.push_back(
            {std::string(text_of(entry.name)), entry.value & bits, entry.isFlag != 0});
        if ((entry.value & ~bits) != 0 || (bits == UINT64_MAX && int64_t(entry.value) < 0 && !entry.isFlag))
            enumeration->is_signed = true;
    }
    const bool has_id = (mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID) != 0;
    const uint64_t id = keep(domain, has_id ? attributes->schemaId : 0, std::move(enumeration));
    tell_holders(domain, id);
    return id;
}

const Schema* schema_of(const Domain& domain, uint64_t id) {
    if (id < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) return nullptr;
    Registered& all = registered();
    std::lock_guard lock(library_mutex);
    const auto known = all.schemas.find({&domain, id});
    return known == all.schemas.end() ? nullptr : known->second.get();
}

const Enumeration* enumeration_of(const Domain& domain, uint64_t id) {
    Registered& all = registered();
    std::lock_guard lock(library_mutex);
    const auto known = all.enumerations.find({&domain, id});
    return known == all.enumerations.end() ? nullptr : known->second.get();
}

size_t size_of_type(const Domain& domain, uint64_t type) {
    static constexpr unsigned char sizes[] = {0,
                                              1,
                                              1,
                                              2,
                                              2,
                                              4,
                                              4,
                                              sizeof(long),
                                              sizeof(long),
                                              8,
                                              8,
                                              1,
                                              1,
                                              2,
                                              2,
                                              4,
                                              4,
                                              8,
                                              8,
                                              4,
                                              8,
                                              sizeof(long double),
                                              sizeof(size_t),
                                              sizeof(void*),
                                              sizeof(wchar_t),
                                              1,
                                              2,
                                              4};
    static_assert(sizeof sizes == NVTX_PAYLOAD_ENTRY_TYPE_INFO_ARRAY_SIZE);
    if (type < sizeof sizes) return sizes[type];
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
            return 1;
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
        case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
            return 2;
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
        case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
        case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
        case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
            return 4;
        case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
            return 16;
        case NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR:
            return 0;
        default:
            break;
    }
    if (type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START)
        return 8;  // scopes, longer ids, strings and their handles
    if (const Schema* schema = schema_of(domain, type)) return schema->size;
    const Enumeration* enumeration = enumeration_of(domain, type);
    return enumeration ? enumeration->size : 0;
}

size_t character_size(uint64_t type) {
    return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16   ? 2
           : type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32 ? 4
                                                           : 1;
}

size_t align_of_type(const Domain& domain, uint64_t type) {
    if (type >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START)
        if (const Schema* schema = schema_of(domain, type)) return schema->align;
    return size_of_type(domain, type);
}

}  // namespace kinetograph::inject
