// All that this library knows of the recorder: the C table.
#pragma once

#include "kinetograph/record_abi.h"

namespace kinetograph::inject {

// nullptr where the recorder beside us is of a version we do not know.
inline const kinetograph_record_table* const recorder = kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);

inline constexpr uint32_t sessions_record = 1;  // a bit of `active`

// The one load that an annotation costs while nobody records.
inline bool is_listening() noexcept {
    return (__atomic_load_n(recorder->active, __ATOMIC_RELAXED) & sessions_record) != 0;
}

}  // namespace kinetograph::inject
