// Where writers' blocks go in Python: a file descriptor, or a callable.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "bind/trace_object.h"
#include "format/sink.h"

namespace kinetograph::bind {

using WriteBlocks = std::function<void(const trace::Trace&, format::Sink&)>;

// Runs `write` without the GIL. `target` is a file descriptor, or is called with each block.
void write_blocks(TraceObject& self, nanobind::object target, const WriteBlocks& write);

}  // namespace kinetograph::bind
