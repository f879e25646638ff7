// All that the observer knows of the recorder: the C table.
#pragma once

#include <cstdint>

#include "kinetograph/record_abi.h"

namespace kinetograph::torch_observer {

inline const kinetograph_record_table* recorder = nullptr;

inline constexpr uint32_t sessions_record = 1;  // a bit of `active`

// Only that of the recorder whose header this was compiled with: two that were built apart, as while a
// package is being replaced, must not meet.
inline bool is_ours(const kinetograph_record_table* table) {
    return table && table->size == sizeof(kinetograph_record_table);
}

// The one load that an operator costs while nobody records.
inline bool is_listening() noexcept {
    return (__atomic_load_n(recorder->active, __ATOMIC_RELAXED) & sessions_record) != 0;
}

inline bool is_known(uint32_t name) noexcept {
    return name >= __atomic_load_n(recorder->oldest_name, __ATOMIC_RELAXED);
}

}  // namespace kinetograph::torch_observer
