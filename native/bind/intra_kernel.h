// Records from inside kernels, for the Python package.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_intra_kernel(nanobind::module_& module);

}  // namespace kinetograph::bind
