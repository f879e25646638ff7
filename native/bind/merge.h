// Making one trace of many, for the Python package.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_merge(nanobind::module_& module);

}  // namespace kinetograph::bind
