// Sampled Python stacks: turning them on and off.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_python_samples(nanobind::module_& module);

}  // namespace kinetograph::bind
