// Python's handle of a native Trace; `kinetograph.trace.Trace` wraps it.
#pragma once

#include <nanobind/nanobind.h>

#include "trace/trace.h"

namespace kinetograph::bind {

// The `_native.Trace` that owns this trace. Call with the GIL.
nanobind::object wrap_trace(trace::Trace&& trace);

void bind_trace(nanobind::module_& module);

}  // namespace kinetograph::bind
