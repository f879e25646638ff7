// Ties what devices did to what the host was doing when it launched that, by thread and by time.
#pragma once

#include "trace/trace.h"

namespace kinetograph::trace {

// Needs an ordered trace. Each call into CUDA is linked to the operator or scope around it, and each kernel,
// copy or set to that of the call that launched it: of a CUDA graph, to that of the launch of the graph.
void link_device_work(Trace& trace);

// For each scope that launched work on a stream, a span over that work on the stream, as Kineto draws it:
// from 1 ns before the first begins until 1 ns after the last ends. Needs an ordered trace and leaves one.
void add_gpu_annotations(Trace& trace);

}  // namespace kinetograph::trace
