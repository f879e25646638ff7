// Switching the collector of Python calls on and off.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_python_calls(nanobind::module_& module);

}  // namespace kinetograph::bind
