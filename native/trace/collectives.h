// Kernels of collectives, and what the operator that launched them tells of these.
#pragma once

#include "trace/trace.h"

namespace kinetograph::trace {

// PyTorch's `record_param_comms` says who exchanges how much of what. Each kernel that was launched by one,
// and by no operator within it, says the same, as in Kineto's files; it knows better than the kernel's name.
// Needs an ordered trace.
void describe_collectives(Trace& trace);

}  // namespace kinetograph::trace
