#pragma once

#include <Python.h>

namespace kinetograph::collect {

// A new reference; nullptr, and no error, where nobody has imported it or the interpreter is ending, when
// PyImport_GetModuleDict would end the process instead. Not by PyImport_GetModule: that waits, in Python, for
// a module which is still being imported, and we may be asked inside of that very import.
inline PyObject* loaded_module(const char* name) {
    PyObject* modules = PySys_GetObject("modules");
    if (!modules || !PyDict_Check(modules)) return nullptr;
    PyObject* key = PyUnicode_FromString(name);
    PyObject* module = key ? PyDict_GetItemWithError(modules, key) : nullptr;
    Py_XINCREF(module);
    Py_XDECREF(key);
    if (!module) PyErr_Clear();
    return module;
}

}  // namespace kinetograph::collect
