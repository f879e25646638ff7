// Copies of memory that others go on writing to: of a session file whose process lives.
#pragma once

#include <cstddef>

#include "base/visibility.h"

namespace kinetograph::record {

// As it was at one moment, each extent for itself, with what was complete then. False, and the copy is empty,
// when it never held still.
KINETOGRAPH_API bool copy_slab(const std::byte* slab, std::byte* copy);

}  // namespace kinetograph::record
