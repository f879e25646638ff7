#include "collect/python_calls/greenlets.h"

#include <Python.h>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/hook.h"
#include "collect/python_calls/keep_error.h"
#include "collect/python_calls/loaded_module.h"

namespace kinetograph::collect {

namespace {

PyObject* on_switch(PyObject* previous, PyObject* const* args, Py_ssize_t count);

PyMethodDef definition = {"kinetograph_on_switch",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_switch)),
                          METH_FASTCALL, nullptr};

// Borrowed from sys.modules; nullptr until it can be asked.
PyObject* module() {
    PyObject* found = loaded_module("greenlet");
    const bool tells = found && PyObject_HasAttrString(found, "settrace");
    Py_XDECREF(found);
    return tells ? found : nullptr;
}

bool is_ours(PyObject* tracer) {
    return tracer && PyCFunction_Check(tracer) &&
           reinterpret_cast<PyCFunctionObject*>(tracer)->m_ml == &definition;
}

void set_tracer(PyObject* tracer) {
    PyObject* greenlet = module();
    PyObject* replaced = greenlet ? PyObject_CallMethod(greenlet, "settrace", "O", tracer) : nullptr;
    if (!replaced) PyErr_Clear();
    Py_XDECREF(replaced);
}

PyObject* tracer_of_thread() {
    PyObject* greenlet = module();
    PyObject* tracer = greenlet ? PyObject_CallMethod(greenlet, "gettrace", nullptr) : nullptr;
    if (!tracer) PyErr_Clear();
    return tracer;
}

// The greenlet that goes on runs already.
void see_switch() {
    record::ThreadBuffer* thread = calling_thread();
    if (!thread) return;
    const KeepError keep;
    change_stack(*thread);  // first, while the calls of the stack that was left are known
    expect_several_stacks();
}

PyObject* on_switch(PyObject* previous, PyObject* const* args, Py_ssize_t count) {
    if (rules.with_calls)
        see_switch();
    else
        leave_greenlets();
    if (!previous || previous == Py_None) Py_RETURN_NONE;
    return PyObject_Vectorcall(previous, args, size_t(count), nullptr);
}

}  // namespace

bool has_greenlets() {
    return module() != nullptr;
}

void follow_greenlets() {
    PyObject* before = tracer_of_thread();
    if (!before) return;
    PyObject* tracer = is_ours(before) ? nullptr : PyCFunction_New(&definition, before);
    if (tracer) set_tracer(tracer);
    Py_XDECREF(tracer);
    Py_DECREF(before);
    PyErr_Clear();
}

void leave_greenlets() {
    PyObject* tracer = tracer_of_thread();
    if (is_ours(tracer)) set_tracer(PyCFunction_GET_SELF(tracer));
    Py_XDECREF(tracer);
}

}  // namespace kinetograph::collect
