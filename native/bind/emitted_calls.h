// Python calls on their way to other tools, by the profile function of each thread.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_emitted_calls(nanobind::module_& module);

}  // namespace kinetograph::bind
