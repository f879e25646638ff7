// Scopes timed by CUDA events.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_cuda_events(nanobind::module_& module);

}  // namespace kinetograph::bind
