// A plain function inside a scope: what @kg.scope("name") makes of it.
#pragma once

#include <Python.h>

namespace kinetograph::bind {

int add_scoped_function(PyObject* module);

}  // namespace kinetograph::bind
