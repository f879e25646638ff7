// Schemas of payloads, as they were registered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inject/domain.h"
#include "inject/nvtx_headers.h"
#include "inject/nvtx_meaning.h"

namespace kinetograph::inject {

struct SchemaEntry {
    uint64_t flags;
    uint64_t type;
    std::string name;
    uint64_t detail;  // length of an array or string, or which entry has it
    uint64_t offset;
    Meaning meaning;  // as a counter

    uint64_t array() const { return flags & array_mask; }
    bool is_pointer() const { return flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER; }
    // Where the data is, counted from some place in the payload. How long such a number is, is told nowhere.
    bool is_offset() const {
        return flags & (NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE);
    }
    bool is_string() const { return is_string_type(type); }
    // Characters in the payload itself; else it has a char*.
    bool is_embedded_string() const { return is_string() && !is_pointer() && (detail != 0 || array() != 0); }
    bool is_fixed_string() const {
        return is_embedded_string() && (array() == 0 || array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
    }

    static bool is_string_type(uint64_t type) {
        return type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING && type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32;
    }
    static constexpr uint64_t array_mask = 7 << 4;
};

struct Schema {
    std::string name;
    uint64_t kind = 0;
    std::vector<SchemaEntry> entries;
    size_t size = 0;  // of one, where that is known beforehand
    size_t align = 1;
    size_t packing = 0;      // no entry is aligned to more; 0: each as it needs
    bool has_places = true;  // the offsets of all entries are known beforehand
    bool is_late = false;    // holds what nobody has registered yet, however deep

    // A value under another id, as numpy's types are registered: it has no name, nor has what is in it.
    bool is_alias() const {
        return name.empty() && entries.size() == 1 &&
               (entries[0].name.empty() || entries[0].type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
    }
    bool is_union() const {
        return kind == NVTX_PAYLOAD_SCHEMA_TYPE_UNION ||
               kind == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR;
    }
};

struct Enumeration {
    struct Value {
        std::string name;
        uint64_t value;
        bool is_flag;
    };
    std::vector<Value> values;  // as wide as the enumeration
    size_t size = 0;
    bool is_signed = false;
};

uint64_t register_schema(const Domain& domain, const nvtxPayloadSchemaAttr_t* schema);
uint64_t register_enum(const Domain& domain, const nvtxPayloadEnumAttr_t* enumeration);

// nullptr for what was not registered. They live for ever, and do not change: that of one that was late gets
// another place.
const Schema* schema_of(const Domain& domain, uint64_t id);
const Enumeration* enumeration_of(const Domain& domain, uint64_t id);

// Of one value; 0 where its length is not known beforehand.
size_t size_of_type(const Domain& domain, uint64_t type);
size_t align_of_type(const Domain& domain, uint64_t type);
size_t character_size(uint64_t type);

}  // namespace kinetograph::inject
