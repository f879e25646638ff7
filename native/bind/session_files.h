// Session files of other processes, for the Python package.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_session_files(nanobind::module_& module);

}  // namespace kinetograph::bind
