// The slot that a code object has for us (PEP 523), under the names that each CPython has for it.
#pragma once

#include <Python.h>

namespace kinetograph::collect {

#if PY_VERSION_HEX < 0x030c0000
inline Py_ssize_t request_code_slot() {
    return _PyEval_RequestCodeExtraIndex(nullptr);
}
inline int set_code_slot(PyObject* code, Py_ssize_t slot, void* value) {
    return _PyCode_SetExtra(code, slot, value);
}
#else
inline Py_ssize_t request_code_slot() {
    return PyUnstable_Eval_RequestCodeExtraIndex(nullptr);
}
inline int set_code_slot(PyObject* code, Py_ssize_t slot, void* value) {
    return PyUnstable_Code_SetExtra(code, slot, value);
}
#endif

}  // namespace kinetograph::collect
