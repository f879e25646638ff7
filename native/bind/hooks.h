// What the native scope asks of the Python side, off the hot path: observers, descriptions, decorators.
#pragma once

#include <Python.h>

namespace kinetograph::bind {

enum class Hook {
    prepare,
    decorate,
    refuse,
    describe_enter,
    describe_exit,
    describe_emitted,
    observe_enter,
    observe_exit,
    count
};

// For hooks in the middle of the user's program: an error of ours in one is reported as unraisable and goes
// no further. What is the program's own (a signal handler that raises meanwhile, KeyboardInterrupt,
// SystemExit) stays set: then the result is false or nullptr.
bool call_hook(Hook hook, PyObject* argument);
PyObject* call_hook_for_result(Hook hook, PyObject* argument);

// For hooks that speak for the user's own call: an error is the user's to see.
PyObject* call_hook_vector(Hook hook, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

// Raises the package's own error for an argument of the wrong type: `format` as for PyErr_Format. Returns
// nullptr.
PyObject* refuse_argument(const char* hint, const char* format, ...);

// Adds set_hook(name, callable), with the names of Hook.
int add_hooks(PyObject* module);

}  // namespace kinetograph::bind
