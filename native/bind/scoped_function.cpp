#include "bind/scoped_function.h"

#include <cstddef>

#include "bind/scope_object.h"
#include "record/thread_buffer.h"

namespace kinetograph::bind {

namespace {

struct ScopedFunctionObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* scope;
    PyObject* function;
    PyObject* attributes;  // __dict__: __name__, __doc__, __wrapped__ ... as functools.wraps leaves them
    PyObject* weak_references;
};

ScopedFunctionObject* cast(PyObject* self) {
    return reinterpret_cast<ScopedFunctionObject*>(self);
}

// An observer must not meet the function's exception; what interrupts the program takes its place.
bool end_after_call(ScopeObject* scope) {
    const uint32_t bits = record::active.load(std::memory_order_relaxed);
    if (bits == 0) return true;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (end(scope, bits)) {
        PyErr_Restore(type, value, traceback);
        return true;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return false;
}

// The collector of cycles takes the function away first; what is freed with it may still call the wrapper.
PyObject* refuse_without_function() {
    PyErr_SetString(PyExc_ReferenceError, "the function of this scope has been collected");
    return nullptr;
}

PyObject* scoped_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    ScopedFunctionObject* scoped = cast(self);
    if (!scoped->function) [[unlikely]]
        return refuse_without_function();
    const uint32_t bits = record::active.load(std::memory_order_relaxed);
    if (bits == 0) [[likely]]
        return PyObject_Vectorcall(scoped->function, args, nargsf, kwnames);
    auto* scope = reinterpret_cast<ScopeObject*>(Py_NewRef(scoped->scope));
    PyObject* result = nullptr;
    if (begin(scope, bits)) {
        result = PyObject_Vectorcall(scoped->function, args, nargsf, kwnames);
        if (!end_after_call(scope)) Py_CLEAR(result);
    }
    Py_DECREF(scope);
    return result;
}

extern PyTypeObject scoped_function_type, scoped_callable_type;

PyTypeObject& type_that_binds_like(PyObject* function) {
    const bool is_function = PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_METHOD_DESCRIPTOR);
    return is_function ? scoped_function_type : scoped_callable_type;
}

PyObject* scoped_new(PyTypeObject*, PyObject* args, PyObject*) {
    PyObject *scope, *function;
    if (!PyArg_ParseTuple(args, "OO:ScopedFunction", &scope, &function)) return nullptr;
    if (!is_scope(scope) || !PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "ScopedFunction() expects a scope and a callable");
    PyTypeObject& type = type_that_binds_like(function);
    auto* self = reinterpret_cast<ScopedFunctionObject*>(type.tp_alloc(&type, 0));
    if (!self) return nullptr;
    self->vectorcall = scoped_vectorcall;
    self->scope = Py_NewRef(scope);
    self->function = Py_NewRef(function);
    return reinterpret_cast<PyObject*>(self);
}

int scoped_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(cast(self)->scope);
    Py_VISIT(cast(self)->function);
    Py_VISIT(cast(self)->attributes);
    return 0;
}

int scoped_clear(PyObject* self) {
    Py_CLEAR(cast(self)->function);
    Py_CLEAR(cast(self)->attributes);
    return 0;
}

void scoped_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    if (cast(self)->weak_references) PyObject_ClearWeakRefs(self);
    scoped_clear(self);
    Py_CLEAR(cast(self)->scope);
    Py_TYPE(self)->tp_free(self);
}

// Found on an instance, a function becomes its method.
PyObject* bind_like_function(PyObject* self, PyObject* instance, PyObject*) {
    if (!instance || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

// Builtins do not, nor does what is bound already: what the callable itself would do decides.
PyObject* bind_like_callable(PyObject* self, PyObject* instance, PyObject* owner) {
    PyObject* function = cast(self)->function;
    const descrgetfunc get = function ? Py_TYPE(function)->tp_descr_get : nullptr;
    if (!get || !instance || instance == Py_None) return Py_NewRef(self);
    PyObject* bound = get(function, instance, owner);
    if (!bound) return nullptr;
    const bool stays = bound == function;
    Py_DECREF(bound);
    return stays ? Py_NewRef(self) : PyMethod_New(self, instance);
}

// What the wrapper has not, the function may have: __code__, __defaults__, attributes of its owner.
PyObject* scoped_getattro(PyObject* self, PyObject* name) {
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found || !cast(self)->function || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr(cast(self)->function, name);
}

PyObject* scoped_repr(PyObject* self) {
    return PyUnicode_FromFormat("<%R in %R>", cast(self)->function, cast(self)->scope);
}

// Pickled by name, like the function it replaces.
PyObject* scoped_reduce(PyObject* self, PyObject*) {
    return PyObject_GetAttrString(self, "__qualname__");
}

PyMethodDef methods[] = {
    {"__reduce__", scoped_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject callable_type() {
    PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
    type.tp_name = "kinetograph.ScopedCallable";
    type.tp_basicsize = sizeof(ScopedFunctionObject);
    type.tp_flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
    type.tp_vectorcall_offset = offsetof(ScopedFunctionObject, vectorcall);
    type.tp_dictoffset = offsetof(ScopedFunctionObject, attributes);
    type.tp_weaklistoffset = offsetof(ScopedFunctionObject, weak_references);
    type.tp_call = PyVectorcall_Call;
    type.tp_new = scoped_new;
    type.tp_alloc = PyType_GenericAlloc;
    type.tp_free = PyObject_GC_Del;
    type.tp_traverse = scoped_traverse;
    type.tp_clear = scoped_clear;
    type.tp_dealloc = scoped_dealloc;
    type.tp_descr_get = bind_like_callable;
    type.tp_getattro = scoped_getattro;
    type.tp_repr = scoped_repr;
    type.tp_methods = methods;
    type.tp_getset = getset;
    type.tp_doc = "A callable whose calls are recorded as a scope.";
    return type;
}

// The flag lets Python call a method without making an object of it.
PyTypeObject function_type() {
    PyTypeObject type = callable_type();
    type.tp_name = "kinetograph.ScopedFunction";
    type.tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
    type.tp_descr_get = bind_like_function;
    type.tp_doc = "A function whose calls are recorded as a scope.";
    return type;
}

PyTypeObject scoped_function_type = function_type();
PyTypeObject scoped_callable_type = callable_type();

}  // namespace

int add_scoped_function(PyObject* module) {
    if (PyType_Ready(&scoped_function_type) != 0 || PyType_Ready(&scoped_callable_type) != 0) return -1;
    return PyModule_AddObjectRef(module, "ScopedFunction",
                                 reinterpret_cast<PyObject*>(&scoped_function_type));
}

}  // namespace kinetograph::bind
