/* The least that tracing Python calls takes: what our collector of calls is measured against.
 *
 * Each hook reads the clock, stores 24 bytes with the identity of the code, and nothing else: no threads, no
 * filter, no names, no stack of open calls, no end of the ring. The GIL is the only protection. */
#define Py_BUILD_CORE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <internal/pycore_frame.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t ticks(void) {
    return __rdtsc();
}
#else
static inline uint64_t ticks(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
#endif

typedef struct {
    uint64_t time;
    const void* code; /* of a C function: the function */
    uint64_t is_end;
} Event;
_Static_assert(sizeof(Event) == 24, "what a floor stores per event");

/* 24 MiB used as a ring; the pages are touched at import, so that no page fault is measured. */
enum { event_count = 1 << 20 };
static Event* events;
static uint64_t stored;

static inline void store(const void* code, uint64_t is_end) {
    events[stored++ & (event_count - 1)] = (Event){ticks(), code, is_end};
}

/* The profile function of a thread. */

static inline const void* code_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030D0000
    return frame->f_frame->f_executable;
#else
    return frame->f_frame->f_code;
#endif
}

static int on_profile(PyObject* self, PyFrameObject* frame, int what, PyObject* argument) {
    if (what == PyTrace_CALL)
        store(code_of(frame), 0);
    else if (what == PyTrace_RETURN)
        store(code_of(frame), 1);
    return 0;
}

static int on_profile_with_c_calls(PyObject* self, PyFrameObject* frame, int what, PyObject* argument) {
    if (what == PyTrace_CALL)
        store(code_of(frame), 0);
    else if (what == PyTrace_RETURN)
        store(code_of(frame), 1);
    else if (what == PyTrace_C_CALL)
        store(argument, 0);
    else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
        store(argument, 1);
    return 0;
}

static PyObject* hooks_profile(PyObject* self, PyObject* ignored) {
    PyEval_SetProfile(on_profile, NULL);
    Py_RETURN_NONE;
}
static PyObject* hooks_profile_with_c_calls(PyObject* self, PyObject* ignored) {
    PyEval_SetProfile(on_profile_with_c_calls, NULL);
    Py_RETURN_NONE;
}
static PyObject* hooks_no_profile(PyObject* self, PyObject* ignored) {
    PyEval_SetProfile(NULL, NULL);
    Py_RETURN_NONE;
}

/* Callbacks for sys.monitoring: (code, offset, ...) of Python calls, (code, offset, callable, ...) of others.
 */

static PyObject* on_start(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    store(args[0], 0);
    Py_RETURN_NONE;
}
static PyObject* on_end(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    store(args[0], 1);
    Py_RETURN_NONE;
}
static PyObject* on_call(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    if (!PyFunction_Check(args[2])) store(args[2], 0);
    Py_RETURN_NONE;
}
static PyObject* on_c_end(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    store(args[2], 1);
    Py_RETURN_NONE;
}

/* The function that evaluates frames (PEP 523). It exists from 3.11 to 3.13 alike, and is a floor on 3.11. */

static PyObject* on_frame(PyThreadState* state, struct _PyInterpreterFrame* frame, int is_throw) {
#if PY_VERSION_HEX >= 0x030D0000
    const void* code = frame->f_executable;
#else
    const void* code = frame->f_code;
#endif
    store(code, 0);
    PyObject* result = _PyEval_EvalFrameDefault(state, frame, is_throw);
    store(code, 1);
    return result;
}

static PyObject* hooks_eval_frame(PyObject* self, PyObject* ignored) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), on_frame);
    Py_RETURN_NONE;
}
static PyObject* hooks_no_eval_frame(PyObject* self, PyObject* ignored) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), _PyEval_EvalFrameDefault);
    Py_RETURN_NONE;
}
static PyObject* hooks_has_eval_frame(PyObject* self, PyObject* ignored) {
    _PyFrameEvalFunction function = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
    return PyBool_FromLong(function != NULL && function != _PyEval_EvalFrameDefault);
}

static PyObject* hooks_stored(PyObject* self, PyObject* ignored) {
    return PyLong_FromUnsignedLongLong(stored);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function
static PyMethodDef functions[] = {
    {"profile", hooks_profile, METH_NOARGS, "Store calls by this thread's profile function."},
    {"profile_with_c_calls", hooks_profile_with_c_calls, METH_NOARGS, "The same with those of C functions."},
    {"no_profile", hooks_no_profile, METH_NOARGS, "Remove the profile function."},
    {"eval_frame", hooks_eval_frame, METH_NOARGS, "Store calls around the evaluation of frames."},
    {"no_eval_frame", hooks_no_eval_frame, METH_NOARGS, "Let the interpreter evaluate frames."},
    {"has_eval_frame", hooks_has_eval_frame, METH_NOARGS, "Whether somebody evaluates frames."},
    {"on_start", FAST(on_start), METH_FASTCALL, "For PY_START, PY_RESUME and PY_THROW."},
    {"on_end", FAST(on_end), METH_FASTCALL, "For PY_RETURN, PY_YIELD and PY_UNWIND."},
    {"on_call", FAST(on_call), METH_FASTCALL, "For CALL."},
    {"on_c_end", FAST(on_c_end), METH_FASTCALL, "For C_RETURN and C_RAISE."},
    {"stored", hooks_stored, METH_NOARGS, "How many events were stored so far."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "hooks", .m_size = -1,
                                    .m_methods = functions};

PyMODINIT_FUNC PyInit_hooks(void) {
    events = malloc(event_count * sizeof(Event));
    if (events == NULL) return PyErr_NoMemory();
    memset(events, 1, event_count * sizeof(Event));
    return PyModule_Create(&module);
}
