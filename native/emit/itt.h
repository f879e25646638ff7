// ITT, Intel's annotations, as a program calls them: our own client, written from the binary interface. The
// tool is the library that INTEL_LIBITTNOTIFY64 names, loaded by the first call; without one nothing here
// does anything.
//
// From any thread, GIL or not.
#pragma once

#include <cstdint>

#include "base/itt_types.h"
#include "base/visibility.h"
#include "emit/range.h"

namespace kinetograph::emit::ittapi {

// Whether a tool takes what is told. Settles it, as every call does.
KINETOGRAPH_API bool is_listening() noexcept;
// A function of the tool's, nullptr without one.
const void* tool_function() noexcept;

// Domains and strings are for ever; nullptr without a tool.
KINETOGRAPH_API itt::Domain* make_domain(const char* name) noexcept;
KINETOGRAPH_API itt::String* make_string(const char* text) noexcept;
KINETOGRAPH_API void name_thread(const char* name) noexcept;

KINETOGRAPH_API void begin(itt::Domain* domain, itt::String* name, const Payload& payload) noexcept;
KINETOGRAPH_API void end(itt::Domain* domain) noexcept;
// Tasks that may cross others and end in any thread. 0: nobody was told.
KINETOGRAPH_API uint64_t begin_overlapped(itt::Domain* domain, itt::String* name,
                                          const Payload& payload) noexcept;
KINETOGRAPH_API void end_overlapped(itt::Domain* domain, uint64_t task) noexcept;
KINETOGRAPH_API void mark(itt::Domain* domain, itt::String* name) noexcept;

itt::Counter* make_counter(const char* domain, const char* name) noexcept;
void set_counter(itt::Counter* counter, double value) noexcept;

// Of the tool as a whole: it collects nothing in between.
KINETOGRAPH_API void pause() noexcept;
KINETOGRAPH_API void resume() noexcept;
KINETOGRAPH_API void detach() noexcept;

}  // namespace kinetograph::emit::ittapi
