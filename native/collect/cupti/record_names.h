// The words that Kineto has for the numbers in CUPTI's records.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace kinetograph::collect::cupti {

template <size_t count>
constexpr std::string_view word(const std::string_view (&words)[count], size_t number) {
    return number < count ? words[number] : words[0];
}

inline std::string_view memory_name(uint32_t kind) {
    static constexpr std::string_view words[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                                 "Array",   "Managed",  "Device Static", "Managed Static"};
    return word(words, kind);
}

inline std::string copy_name(uint32_t kind, uint32_t from, uint32_t to) {
    static constexpr std::string_view words[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                 "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    return "Memcpy " + std::string(word(words, kind)) + " (" + std::string(memory_name(from)) + " -> " +
           std::string(memory_name(to)) + ")";
}

inline std::string set_name(uint32_t memory) {
    return "Memset (" + std::string(memory_name(memory)) + ")";
}

inline std::string_view synchronization_name(uint32_t type) {
    static constexpr std::string_view words[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                                 "Stream Sync", "Context Sync"};
    return word(words, type);
}

inline std::string_view stream_kind(uint32_t flag) {
    static constexpr std::string_view words[] = {"unknown", "default", "non-blocking", "null"};
    return word(words, flag);
}

inline bool waits_for_event(uint32_t type) {
    return type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE ||
           type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
}

inline std::string_view overhead_name(uint32_t kind) {
    static constexpr std::string_view words[] = {"Unknown",
                                                 "Buffer Flush",
                                                 "Instrumentation",
                                                 "Resource",
                                                 "Runtime Triggered Module Loading",
                                                 "Lazy Function Loading",
                                                 "Command Buffer Full",
                                                 "Activity Buffer Request",
                                                 "UVM Activity Init"};
    if (kind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER) return "Driver Compiler";
    return word(words, kind >> 16);
}

inline std::string compilation_name(uint32_t entry, uint32_t operation) {
    static constexpr std::string_view entries[] = {"JIT", "JIT PTX to cubin", "JIT NVVM IR to PTX"};
    static constexpr std::string_view operations[] = {"", ": cache load", ": cache store", ": compile"};
    return std::string(word(entries, entry)) + std::string(word(operations, operation));
}

}  // namespace kinetograph::collect::cupti
