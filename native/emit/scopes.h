// Scopes, marks and counters on their way to tools, for as long as somebody wants that. Whoever calls looks
// at `record::active` first: it has `active_emission` while there is anything to tell.
//
// From any thread. Nothing here throws, or needs Python.
#pragma once

#include <cstdint>

#include "base/visibility.h"
#include "emit/range.h"

namespace kinetograph::emit {

enum class Target : uint8_t { nvtx, itt };
constexpr Target target(bool itt) {
    return itt ? Target::itt : Target::nvtx;
}

inline constexpr uint32_t every_kind = UINT32_MAX;

// A bit for each kind of scope, for each target.
using Wish = uint64_t;
constexpr Wish wish(Target target, uint32_t kinds = every_kind) {
    return uint64_t(kinds) << (target == Target::itt ? 32 : 0);
}
constexpr Wish wish_for_kind(uint32_t kind) {
    return wish(Target::nvtx, 1u << kind) | wish(Target::itt, 1u << kind);
}

// Users are told apart by their number: who does not know whether it has stopped stops again. `kinds` has a
// bit for each kind of scope that is wanted. A scope that is open at the stop is still told to end; until
// none is, the bit stays. Without a tool scopes stay as cheap as they are.
KINETOGRAPH_API void start(Target target, uint64_t user, uint32_t kinds = every_kind) noexcept;
KINETOGRAPH_API void stop(uint64_t user) noexcept;
KINETOGRAPH_API bool is_on(Target target) noexcept;
// By anybody.
KINETOGRAPH_API bool is_wanted(Wish wishes) noexcept;

// See OpenRanges. Told to the targets in which somebody has one of these wishes.
KINETOGRAPH_API void begin_scope(const void* key, uintptr_t context, Range&& range,
                                 Wish wishes = UINT64_MAX) noexcept;
KINETOGRAPH_API void end_scope(const void* key, uintptr_t context) noexcept;
// Of the calling thread.
KINETOGRAPH_API bool has_open_scopes() noexcept;
KINETOGRAPH_API void end_scopes(uint32_t category) noexcept;
KINETOGRAPH_API void mark(const Range& range) noexcept;
KINETOGRAPH_API void count(Name& name, double value) noexcept;

}  // namespace kinetograph::emit
