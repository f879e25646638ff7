// Averages, call trees and folded stacks of a Trace, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/trace_object.h"

namespace kinetograph::bind {

void bind_reports(nanobind::class_<TraceObject>& type);

}  // namespace kinetograph::bind
