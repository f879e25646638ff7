// kg.scope and its companions: plain C types, because each call must cost nanoseconds.
#pragma once

#include <Python.h>

namespace kinetograph::bind {

// Adds scope and ScopedFunction. Returns -1 with an exception
// set.
int add_scope_types(PyObject* module);

}  // namespace kinetograph::bind
