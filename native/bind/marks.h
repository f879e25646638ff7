// kg.mark and kg.counter: events without a duration.
#pragma once

#include <Python.h>

namespace kinetograph::bind {

// Adds mark and counter. Returns -1 with an exception set.
int add_marks(PyObject* module);

}  // namespace kinetograph::bind
