// What the tests of NVTX payloads share: registering schemas, laying out data, and seeing what becomes of it.
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nvtx_events.h"

namespace kinetograph::test {

inline uint64_t registered(nvtxDomainHandle_t domain, std::vector<nvtxPayloadSchemaEntry_t> entries,
                           size_t size, const char* name, uint64_t kind = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                           uint64_t id = 0) {
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = name;
    schema.type = kind;
    schema.entries = entries.data();
    schema.numEntries = entries.size();
    schema.payloadStaticSize = size;
    if (id != 0) schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    schema.schemaId = id;
    return nvtxPayloadSchemaRegister(domain, &schema);
}

inline nvtxPayloadSchemaEntry_t entry(const char* name, uint64_t type, uint64_t flags = 0,
                                      uint64_t detail = 0, uint64_t offset = 0) {
    nvtxPayloadSchemaEntry_t made{};
    made.name = name;
    made.type = type;
    made.flags = flags;
    made.arrayOrUnionDetail = detail;
    made.offset = offset;
    return made;
}

inline uint64_t registered_enum(nvtxDomainHandle_t domain, const std::vector<nvtxPayloadEnum_t>& values,
                                size_t size) {
    nvtxPayloadEnumAttr_t attributes{};
    attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    attributes.entries = values.data();
    attributes.numEntries = values.size();
    attributes.sizeOfEnum = size;
    return nvtxPayloadEnumRegister(domain, &attributes);
}

inline void mark_with(nvtxDomainHandle_t domain, const char* name, const nvtxPayloadData_t* payloads,
                      int count) {
    nvtxEventAttributes_t event = event_called(name);
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = count;
    event.payload.ullValue = reinterpret_cast<uintptr_t>(payloads);
    nvtxDomainMarkEx(domain, &event);
}

// What becomes of a payload, as JSON.
inline std::string told_by(nvtxDomainHandle_t domain, std::vector<nvtxPayloadData_t> payloads,
                           std::string_view note = {}) {
    const auto session = start();
    mark_with(domain, "told", payloads.data(), int(payloads.size()));
    const trace::Trace trace = stop(session);
    CHECK(notes_that_begin(trace, note) == (note.empty() ? trace.notes.size() : 1));
    return args(trace, "told").substr(std::string_view("\"payload\":").size());
}

inline std::string told_by(nvtxDomainHandle_t domain, uint64_t schema, const std::vector<char>& bytes,
                           std::string_view note = {}) {
    return told_by(domain, {{schema, bytes.size(), bytes.data()}}, note);
}

// Bytes one behind the other, without what a compiler would put between them.
template <class... Values>
std::vector<char> packed(const Values&... values) {
    std::vector<char> bytes;
    const auto append = [&](const void* value, size_t size) {
        bytes.insert(bytes.end(), static_cast<const char*>(value), static_cast<const char*>(value) + size);
    };
    (append(&values, sizeof values), ...);
    return bytes;
}

inline uint64_t dynamic(nvtxDomainHandle_t domain, std::vector<nvtxPayloadSchemaEntry_t> entries,
                        const char* name = "Dynamic", size_t size = 0) {
    return registered(domain, std::move(entries), size, name, NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC);
}

inline constexpr uint64_t length_elsewhere = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX,
                          to_zero = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;

}  // namespace kinetograph::test
