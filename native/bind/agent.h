// The agent that waits for those who want to look into this process.
#pragma once

#include <nanobind/nanobind.h>

namespace kinetograph::bind {

void bind_agent(nanobind::module_& module);

}  // namespace kinetograph::bind
