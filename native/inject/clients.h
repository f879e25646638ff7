// Which libraries annotate through us.
#pragma once

#include <string_view>

namespace kinetograph::inject {

// By an address within it.
void remember_client(const void* address) noexcept;
// Whether an address is within a library of that file name.
bool is_in_library(const void* address, std::string_view name) noexcept;

}  // namespace kinetograph::inject
