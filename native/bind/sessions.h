// Sessions of the recorder, for the Python package.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_sessions(nanobind::module_& module);

}  // namespace kinetograph::bind
