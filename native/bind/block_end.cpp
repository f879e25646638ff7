#include "bind/block_end.h"

#include <optional>

namespace nb = nanobind;

namespace kinetograph::bind {

namespace {

// The later one tells of the earlier, as one raised in a `finally` does.
PyObject* raise_later(nb::python_error& earlier) {
    nb::python_error later;
    PyException_SetContext(later.value().ptr(), earlier.value().inc_ref().ptr());
    later.restore();
    return nullptr;
}

// Python calls its signal handlers at the first step of a function of Python, in front of any `try` in it: of
// a Ctrl-C that came in the last operation of a block, its end would know nothing, and leave on what it was
// to end. So they are called here, and what they raise is raised behind the end.
PyObject* end_block(PyObject* function, PyObject* const* args, Py_ssize_t count) {
    std::optional<nb::python_error> interrupt;
    if (PyErr_CheckSignals() != 0) interrupt.emplace();
    PyObject* result = PyObject_Vectorcall(function, args, size_t(count), nullptr);
    if (!interrupt) return result;
    if (!result) return raise_later(*interrupt);
    Py_DECREF(result);
    interrupt->restore();
    return nullptr;
}

PyMethodDef definition = {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(end_block)),
                          METH_FASTCALL, "End the block."};

PyObject* ends_block(PyObject*, PyObject* function) {
    PyObject* called = PyCFunction_New(&definition, function);
    PyObject* method = called ? PyInstanceMethod_New(called) : nullptr;
    Py_XDECREF(called);
    return method;
}

PyMethodDef functions[] = {
    {"ends_block", ends_block, METH_O,
     "ends_block(function, /)\n--\n\nThe method, as one that a signal which came before it cannot keep from "
     "its end."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_block_end(nb::module_& module) {
    if (PyModule_AddFunctions(module.ptr(), functions) != 0) throw nb::python_error();
}

}  // namespace kinetograph::bind
