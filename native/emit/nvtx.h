// NVTX, NVIDIA's annotations, as a program calls them. The tool is found by the first call, and is nobody's
// in a process that was started without one: then nothing here does anything.
//
// Handles are opaque: what a tool gave, or nullptr without one. A domain of nullptr is NVTX's own. From any
// thread, GIL or not.
#pragma once

#include <cstdint>

#include "base/visibility.h"
#include "emit/range.h"

namespace kinetograph::emit::nvtx {

struct Message {
    const char* text = nullptr;
    void* registered = nullptr;  // by `register_text`, in the same domain; comes before the text
};

// Whether this build has NVTX at all.
KINETOGRAPH_API bool is_built() noexcept;
// Whether a tool takes what is told. Settles it, as every call does.
KINETOGRAPH_API bool is_listening() noexcept;
// A function of the tool's, nullptr without one.
const void* tool_function() noexcept;

// Domains, texts and names of categories are for ever.
KINETOGRAPH_API void* make_domain(const char* name) noexcept;
KINETOGRAPH_API void* register_text(void* domain, const char* text) noexcept;
KINETOGRAPH_API void name_category(void* domain, uint32_t category, const char* name) noexcept;
KINETOGRAPH_API void name_thread(uint32_t tid, const char* name) noexcept;

// How deep the range lies that began or ended; negative if the tool does not tell, or there is none.
KINETOGRAPH_API int push(void* domain, const Message& message, const Look& look) noexcept;
KINETOGRAPH_API int pop(void* domain) noexcept;
// Ranges that may cross others and end in any thread.
KINETOGRAPH_API uint64_t start(void* domain, const Message& message, const Look& look) noexcept;
KINETOGRAPH_API void end(void* domain, uint64_t range) noexcept;
KINETOGRAPH_API void mark(void* domain, const Message& message, const Look& look) noexcept;

// 0: the tool takes no counters.
uint64_t make_counter(void* domain, const char* name) noexcept;
void set_counter(void* domain, uint64_t counter, double value) noexcept;

}  // namespace kinetograph::emit::nvtx
