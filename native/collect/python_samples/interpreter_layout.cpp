// A file of its own, because CPython's header for this has to come before all others of Python, and does not
// pass the warnings that ours do.
#pragma GCC diagnostic ignored "-Wpedantic"

#define Py_BUILD_CORE 1
#include <Python.h>
// C++20 has no <stdatomic.h>; the headers then take the compiler's own atomics, of the same size.
#undef HAVE_STD_ATOMIC
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE

#include "collect/python_samples/interpreter_layout.h"

namespace kinetograph::collect {

const size_t thread_head_offset = offsetof(PyInterpreterState, threads.head);

}  // namespace kinetograph::collect
