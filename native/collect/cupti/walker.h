// From record to record through a buffer that CUPTI has filled: a third of what its own walker costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "collect/cupti/library.h"
#include "collect/cupti/record_sizes.h"

namespace kinetograph::collect::cupti {

inline uint32_t kind_of(const uint8_t* record) {
    uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    return kind;
}

// Asks the library how long a record is: as far as the next one, or the end of the buffer. 0 when it does not
// know.
inline size_t size_by_library(const Cupti& cupti, uint8_t* buffer, size_t valid, uint8_t* record) {
    auto* next = reinterpret_cast<CUpti_Activity*>(record);
    const CUptiResult result = cupti.next_record(buffer, valid, &next);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return size_t(buffer + valid - record);
    const auto* behind = reinterpret_cast<uint8_t*>(next);
    return result == CUPTI_SUCCESS && behind > record && behind < buffer + valid ? size_t(behind - record)
                                                                                 : 0;
}

// Or a record that is incomplete hides those behind it.
inline bool is_empty(const uint8_t* rest, size_t bytes) {
    return std::all_of(rest, rest + bytes, [](uint8_t byte) { return byte == 0; });
}

// Calls visit(record, bytes) for each. False when the rest of the buffer could not be understood; nothing
// that lies beyond `valid` is read.
template <class Visit>
bool walk(const Cupti& cupti, const RecordSizes& sizes, uint8_t* buffer, size_t valid, Visit&& visit) {
    for (size_t at = 0; at + sizeof(uint32_t) <= valid;) {
        const uint32_t kind = kind_of(buffer + at);
        if (kind == CUPTI_ACTIVITY_KIND_INVALID) return is_empty(buffer + at, valid - at);
        size_t bytes = sizes.of(kind);
        if (bytes == 0) bytes = size_by_library(cupti, buffer, valid, buffer + at);
        if (bytes == 0 || at + bytes > valid) return false;
        visit(buffer + at, bytes);
        at += bytes;
    }
    return true;
}

}  // namespace kinetograph::collect::cupti
