// Traces between native memory and Python's files, in the formats that are written natively.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "bind/trace_object.h"

namespace kinetograph::bind {

// `target` is a file descriptor, or is called with each block.
void write_chrome_json(TraceObject& self, nanobind::object target, nanobind::str trace_name);
void write_perfetto(TraceObject& self, nanobind::object target);

// `read` is called until it returns no more bytes.
nanobind::object read_chrome_json(nanobind::object read, std::string directory);
nanobind::object read_perfetto(nanobind::object read, std::string directory);

// `_native.ParseError(reason, offset)`.
void bind_parse_error(nanobind::module_& module);

}  // namespace kinetograph::bind
