// Intel's JIT interface: a profiler is told where code lies that a program has made as it ran. The listener
// is the library that INTEL_JIT_PROFILER64 names, loaded by the first call.
#pragma once

#include <cstdint>

#include "base/visibility.h"

namespace kinetograph::emit::jit {

struct Line {
    uint32_t offset;  // in the code; the line holds up to it
    uint32_t number;
};

struct Method {
    const char* name = nullptr;
    const char* source_file = nullptr;  // nullptr: none
    void* address = nullptr;
    uint32_t bytes = 0;
    Line* lines = nullptr;
    uint32_t line_count = 0;
};

// Whether a tool listens and wants to know.
KINETOGRAPH_API bool is_active() noexcept;
// The number of the method, 0 if nobody took it.
KINETOGRAPH_API uint32_t tell_loaded(const Method& method) noexcept;
KINETOGRAPH_API bool tell_unloaded(uint32_t method) noexcept;

}  // namespace kinetograph::emit::jit
