#pragma once

#include <Python.h>

namespace kinetograph::collect {

// A new reference; nullptr, and no error, where nobody has imported it or the interpreter is ending, when
// PyImport_GetModuleDict would end the process instead.
inline PyObject* loaded_module(const char* name) {
    PyObject* key = PyUnicode_FromString(name);
    PyObject* module = key ? PyImport_GetModule(key) : nullptr;
    Py_XDECREF(key);
    if (!module) PyErr_Clear();
    return module;
}

}  // namespace kinetograph::collect
