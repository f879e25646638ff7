// What `kg.nvtx` and `kg.itt` call: the interfaces of other tools, as they are.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_other_tools(nanobind::module_& module);

}  // namespace kinetograph::bind
