// The C table as those who record by it have it, for tests.
#pragma once

#include <cstdint>
#include <string_view>

#include "kinetograph/record_abi.h"

namespace kinetograph::test {

inline const kinetograph_record_table& table() {
    return *kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
}

inline uint32_t text(std::string_view spelled) {
    return table().intern_text(spelled.data(), spelled.size());
}

}  // namespace kinetograph::test
