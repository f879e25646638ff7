#include "bind/hooks.h"

#include <cstring>

namespace kinetograph::bind {

namespace {

PyObject* hooks[int(Hook::count)];

constexpr const char* names[] = {"prepare",       "decorate",      "describe_enter",
                                 "describe_exit", "observe_enter", "observe_exit"};
static_assert(sizeof(names) / sizeof(names[0]) == size_t(Hook::count));

PyObject* set_hook(PyObject*, PyObject* args) {
    const char* name;
    PyObject* callable;
    if (!PyArg_ParseTuple(args, "sO:set_hook", &name, &callable)) return nullptr;
    for (int i = 0; i < int(Hook::count); ++i) {
        if (std::strcmp(names[i], name) != 0) continue;
        Py_XSETREF(hooks[i], Py_NewRef(callable));
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_ValueError, "there is no hook %R", PyTuple_GET_ITEM(args, 0));
}

PyMethodDef functions[] = {
    {"set_hook", set_hook, METH_VARARGS,
     "set_hook(name, callable, /)\n--\n\nConnect the Python side of scopes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* call_hook_for_result(Hook hook, PyObject* argument) {
    PyObject* callable = hooks[int(hook)];
    if (!callable) return nullptr;
    PyObject* result = PyObject_CallOneArg(callable, argument);
    if (!result && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_WriteUnraisable(callable);
    return result;
}

bool call_hook(Hook hook, PyObject* argument) {
    Py_XDECREF(call_hook_for_result(hook, argument));
    return !PyErr_Occurred();
}

PyObject* call_hook_vector(Hook hook, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* callable = hooks[int(hook)];
    if (!callable) return PyErr_Format(PyExc_RuntimeError, "kinetograph is not fully imported");
    return PyObject_Vectorcall(callable, args, size_t(nargs), kwnames);
}

int add_hooks(PyObject* module) {
    return PyModule_AddFunctions(module, functions);
}

}  // namespace kinetograph::bind
