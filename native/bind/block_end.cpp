#include "bind/block_end.h"

#include <structmember.h>

#include <optional>

namespace nb = nanobind;

namespace kinetograph::bind {

namespace {

// In place of a function in a class: a method of its objects.
struct BlockEnd {
    PyObject_HEAD PyObject* function;
};

// The later one tells of the earlier, as one raised in a `finally` does; unless it tells of another already,
// of which the earlier may tell as well: they must not go round in a circle.
PyObject* raise_later(nb::python_error& earlier) {
    nb::python_error later;
    PyObject* known = PyException_GetContext(later.value().ptr());
    if (!known && !later.value().is(earlier.value()))
        PyException_SetContext(later.value().ptr(), earlier.value().inc_ref().ptr());
    Py_XDECREF(known);
    later.restore();
    return nullptr;
}

// Python calls its signal handlers at the first step of a function of Python, in front of any `try` in it: of
// a Ctrl-C that came in the last operation of a block, its end would know nothing, and leave on what it was
// to end. So they are called here, and what they raise is raised behind the end.
PyObject* end_block(PyObject* self, PyObject* args, PyObject* kwargs) {
    std::optional<nb::python_error> interrupt;
    if (PyErr_CheckSignals() != 0) interrupt.emplace();
    PyObject* result = PyObject_Call(reinterpret_cast<BlockEnd*>(self)->function, args, kwargs);
    if (!interrupt) return result;
    if (!result) return raise_later(*interrupt);
    Py_DECREF(result);
    interrupt->restore();
    return nullptr;
}

PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
    return object ? PyMethod_New(self, object) : Py_NewRef(self);
}

// Those that are there belong to classes, and live as long.
void deallocate(PyObject* self) {
    Py_XDECREF(reinterpret_cast<BlockEnd*>(self)->function);
    PyObject_Free(self);
}

// For inspect.
PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(BlockEnd, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyTypeObject block_end_type = [] {
    PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
    type.tp_name = "kinetograph.BlockEnd";
    type.tp_basicsize = sizeof(BlockEnd);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_dealloc = deallocate;
    type.tp_descr_get = bound;
    type.tp_call = end_block;
    type.tp_members = members;
    return type;
}();

PyObject* ends_block(PyObject*, PyObject* function) {
    auto* end = PyObject_New(BlockEnd, &block_end_type);
    if (end) end->function = Py_NewRef(function);
    return reinterpret_cast<PyObject*>(end);
}

PyMethodDef functions[] = {
    {"ends_block", ends_block, METH_O,
     "ends_block(function, /)\n--\n\nThe method, as one that a signal which came before it cannot keep from "
     "its end."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_block_end(nb::module_& module) {
    if (PyType_Ready(&block_end_type) != 0 || PyModule_AddFunctions(module.ptr(), functions) != 0)
        throw nb::python_error();
}

}  // namespace kinetograph::bind
