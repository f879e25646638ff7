// The collector of CUDA: started and stopped by sessions.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_cuda(nanobind::module_& module);

}  // namespace kinetograph::bind
