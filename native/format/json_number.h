// Exact integers out of JSON number tokens; no double is ever between a file and a nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace kinetograph::format {

using base::latest_ns;

// Nothing when the token has a fraction or an exponent, or is too large.
std::optional<int64_t> to_int64(std::string_view token);

// From microseconds with any decimals and exponent, to the nearest one. Nothing beyond latest_ns.
std::optional<int64_t> to_nanoseconds(std::string_view token);

// Nothing for what is no number, or larger than a double can be.
std::optional<double> to_double(std::string_view token);

}  // namespace kinetograph::format
