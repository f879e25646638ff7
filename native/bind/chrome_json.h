// Chrome JSON between a Trace and Python's files.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "bind/trace_object.h"

namespace kinetograph::bind {

// `target` is a file descriptor, or is called with each block.
void write_trace(TraceObject& self, nanobind::object target, nanobind::str trace_name);

// `read` is called until it returns no more bytes.
nanobind::object read_trace(nanobind::object read, std::string directory);

// `_native.ParseError(reason, offset)`.
void bind_parse_error(nanobind::module_& module);

}  // namespace kinetograph::bind
