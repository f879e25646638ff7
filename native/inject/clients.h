// Which libraries annotate through us.
#pragma once

namespace kinetograph::inject {

// By an address within it.
void remember_client(const void* address) noexcept;

}  // namespace kinetograph::inject
