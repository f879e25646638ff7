#include "bind/hooks.h"

namespace kinetograph::bind {

namespace {

PyObject* hooks[int(Hook::count)];

PyObject* set_hooks(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != int(Hook::count)) return PyErr_Format(PyExc_TypeError, "set_hooks() expects %d callables", int(Hook::count));
    for (int i = 0; i < int(Hook::count); ++i) Py_XSETREF(hooks[i], Py_NewRef(args[i]));
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_hooks", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(set_hooks)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* call_hook_for_result(Hook hook, PyObject* argument) {
    PyObject* callable = hooks[int(hook)];
    if (!callable) return nullptr;
    PyObject* result = PyObject_CallOneArg(callable, argument);
    if (!result) PyErr_WriteUnraisable(callable);
    return result;
}

void call_hook(Hook hook, PyObject* argument) { Py_XDECREF(call_hook_for_result(hook, argument)); }

PyObject* call_hook_vector(Hook hook, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* callable = hooks[int(hook)];
    if (!callable) return PyErr_Format(PyExc_RuntimeError, "kinetograph is not fully imported");
    return PyObject_Vectorcall(callable, args, size_t(nargs), kwnames);
}

int add_hooks(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace kinetograph::bind
