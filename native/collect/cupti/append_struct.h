// How what CUPTI tells is appended to a thread's buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "record/thread_buffer.h"

namespace kinetograph::collect::cupti {

inline constexpr uint8_t cuda_device = 1;  // DeviceType::CUDA

// A record, its struct, and perhaps a text.
inline void append_struct(record::ThreadBuffer& thread, record::Record record, const void* details,
                          size_t bytes, std::string_view text = {}) {
    const uint32_t length = uint32_t(text.size());
    const size_t text_bytes = length ? sizeof length + length : 0;
    record.payload = uint16_t((bytes + text_bytes + record::unit_bytes - 1) / record::unit_bytes);
    record::Record* room = record::room_for(thread, 1U + record.payload);
    if (!room) return;
    *room = record;
    auto* behind = reinterpret_cast<std::byte*>(room + 1);
    std::memcpy(behind, details, bytes);
    if (length) std::memcpy(behind + bytes, &length, sizeof length);
    if (length) std::memcpy(behind + bytes + sizeof length, text.data(), length);
    record::publish(thread, 1U + record.payload);
}

}  // namespace kinetograph::collect::cupti
