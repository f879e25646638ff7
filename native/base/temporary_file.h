// Files without a name: disk as memory. Nothing is left behind, whatever happens to the process.
#pragma once

#include <string>

#include "base/visibility.h"

namespace kinetograph::base {

// A descriptor, or -1 with errno set.
KINETOGRAPH_API int open_unlinked(const std::string& directory);

// TMPDIR, else /var/tmp, which is on a disk where /tmp may be memory.
KINETOGRAPH_API std::string temporary_directory();

}  // namespace kinetograph::base
