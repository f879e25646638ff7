// Calls that are named by object: what was recorded tells objects apart, what is shown is a number for each
// among those of its class in this trace, 0 for the one that was called first, as PyTorch has it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::trace {

// `names` are those of objects, as recorded. The rows must be in order. Linear.
void number_objects(Trace& trace, const std::vector<uint32_t>& names);

}  // namespace kinetograph::trace
