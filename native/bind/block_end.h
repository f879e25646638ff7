// Ends of blocks (`__exit__`) that come whatever a signal does.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_block_end(nanobind::module_& module);

}  // namespace kinetograph::bind
