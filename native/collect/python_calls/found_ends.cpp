#include "collect/python_calls/found_ends.h"

#include "collect/python_calls/frames.h"
#include "collect/python_calls/own_calls.h"

namespace kinetograph::collect {

namespace {

void (*tell)(uintptr_t) = nullptr;

struct Witness {
    PyObject_HEAD PyFrameObject* owner;  // not counted: it holds the witness
    PyThreadState* state;
    Frame* frame;
};

// Also when it is only replaced. A frame object that somebody keeps has a copy of the frame by then;
// otherwise the frame is still there, and has let go of its object if it ends.
bool has_ended(const Witness& witness) {
    return witness.owner->f_frame == witness.frame && !witness.frame->frame_obj;
}

void dies(PyObject* self) {
    const auto& witness = *reinterpret_cast<Witness*>(self);
    if (tell && witness.state == PyThreadState_Get() && has_ended(witness)) tell(key_of(witness.frame));
    PyObject_Free(self);
}

// A debugger that comes later calls what it finds there.
PyObject* is_called(PyObject*, PyObject*, PyObject*) {
    Py_RETURN_NONE;
}

PyTypeObject* witness_type() {
    static PyTypeObject type = [] {
        PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
        made.tp_name = "kinetograph.witness";
        made.tp_basicsize = sizeof(Witness);
        made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
        made.tp_dealloc = dies;
        made.tp_call = is_called;
        return made;
    }();
    return PyType_Ready(&type) == 0 ? &type : nullptr;
}

// A generator is suspended more often than it ends.
bool can_be_watched(const PyFrameObject* object) {
    return !object->f_trace && object->f_frame->owner == FRAME_OWNED_BY_THREAD;
}

void watch(PyThreadState* state, PyFrameObject* object) {
    PyTypeObject* type = witness_type();
    Witness* witness = type ? PyObject_New(Witness, type) : nullptr;
    if (!witness) return PyErr_Clear();
    witness->owner = object;
    witness->state = state;
    witness->frame = object->f_frame;
    object->f_trace = reinterpret_cast<PyObject*>(witness);
}

}  // namespace

void watch_ends(PyThreadState* state, void (*when_ended)(uintptr_t)) {
    tell = when_ended;
    if (state->c_tracefunc) return;
    PyFrameObject* object = PyThreadState_GetFrame(state);
    while (object) {
        if (can_be_watched(object)) watch(state, object);
        PyFrameObject* outer = PyFrame_GetBack(object);
        Py_DECREF(object);
        object = outer;
    }
}

void forget_ends(PyThreadState* state) {
    for (Frame* frame = innermost_frame(state); frame; frame = caller_of(frame)) {
        PyFrameObject* object = frame->frame_obj;
        if (object && object->f_trace && Py_TYPE(object->f_trace) == witness_type())
            Py_CLEAR(object->f_trace);
    }
}

}  // namespace kinetograph::collect
