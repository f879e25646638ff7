// All that this library knows of the recorder: the C table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "inject/process.h"
#include "kinetograph/record_abi.h"

namespace kinetograph::inject {

inline const kinetograph_record_table* known_table() {
    const kinetograph_record_table* table = kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    constexpr size_t needed =
        offsetof(kinetograph_record_table, is_told_again) + sizeof(kinetograph_record_table::is_told_again);
    return table && table->size >= needed ? table : nullptr;
}

// nullptr where the recorder in this process is one that we do not know, or that knows less than we need.
inline const kinetograph_record_table* const recorder = known_table();

// Times that it gave are none before this one.
inline const uint64_t loaded_at = recorder ? recorder->ticks() : 0;

inline constexpr uint32_t sessions_record = 1;  // a bit of `active`

inline bool is_recording() noexcept {
    return (__atomic_load_n(recorder->active, __ATOMIC_RELAXED) & sessions_record) != 0;
}

// Two loads are what an annotation costs while nobody records.
inline bool is_listening() noexcept {
    return is_recording() || (is_forked.load(std::memory_order_relaxed) && take_part_as_child());
}

}  // namespace kinetograph::inject
