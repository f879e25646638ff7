// What scopes, marks and counters become in a tool: ranges of NVTX or tasks of ITT, in a domain of ours.
#pragma once

#include <cstdint>

#include "emit/range.h"

namespace kinetograph::emit {

inline constexpr const char* our_domain = "kinetograph";

// Of ranges in it, where they are no scopes of PyTorch's kinds.
inline constexpr uint32_t python_function_category = 11;

// A table for each interface.
struct Tool {
    // Settled by the first question.
    bool (*is_listening)();
    // One that the tool has set, by which its library is known; nullptr without.
    const void* (*function)();
    // A stack for each thread.
    void (*push)(const Range&);
    void (*pop)();
    // Where a stack would be wrong. 0: nobody was told.
    uint64_t (*start)(const Range&);
    void (*end)(uint64_t range);
    void (*mark)(const Range&);
    void (*count)(Name& name, double value);
};

extern const Tool nvtx_tool;
extern const Tool itt_tool;

// Our domain in NVTX.
KINETOGRAPH_API void* nvtx_scope_domain() noexcept;

}  // namespace kinetograph::emit
