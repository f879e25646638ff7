// Frames of the interpreter, whose layout changes with every CPython: no other file knows it.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"  // they hold anonymous structs
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#endif
#undef Py_BUILD_CORE
#pragma GCC diagnostic pop

namespace kinetograph::collect {

using Frame = _PyInterpreterFrame;

#if PY_VERSION_HEX < 0x030d0000
inline Frame* newest_frame(PyThreadState* state) {
    return state->cframe ? state->cframe->current_frame : nullptr;
}
inline const _Py_CODEUNIT* instruction_of(const Frame* frame) {
    return frame->prev_instr;
}
#else
inline Frame* newest_frame(PyThreadState* state) {
    return state->current_frame;
}
inline const _Py_CODEUNIT* instruction_of(const Frame* frame) {
    return frame->instr_ptr;
}
#endif

// Locals and code are references with marks in them from 3.14 on.
#if PY_VERSION_HEX < 0x030d0000
inline PyCodeObject* code_of(const Frame* frame) {
    return frame->f_code;
}
#elif PY_VERSION_HEX < 0x030e0000
inline PyCodeObject* code_of(const Frame* frame) {
    return reinterpret_cast<PyCodeObject*>(frame->f_executable);
}
#else
inline PyCodeObject* code_of(const Frame* frame) {
    return reinterpret_cast<PyCodeObject*>(PyStackRef_AsPyObjectBorrow(frame->f_executable));
}
#endif

#if PY_VERSION_HEX < 0x030e0000
inline PyObject* first_local(const Frame* frame) {
    return frame->localsplus[0];
}
#else
inline PyObject* first_local(const Frame* frame) {
    return PyStackRef_AsPyObjectBorrow(
        frame->localsplus[0]);  // that to nothing is a mark, and becomes nullptr
}
#endif

#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000
inline bool is_python_frame(Frame* frame) {
    return frame->owner != FRAME_OWNED_BY_CSTACK && !_PyFrame_IsIncomplete(frame);
}
#else
inline bool is_python_frame(Frame* frame) {
    return !_PyFrame_IsIncomplete(frame);
}
#endif

// The frame itself, or the nearest outside of it, that runs Python code; nullptr when there is none.
inline Frame* python_frame(Frame* frame) {
    while (frame && !is_python_frame(frame)) frame = frame->previous;
    return frame;
}

inline Frame* innermost_frame(PyThreadState* state) {
    return python_frame(newest_frame(state));
}
inline Frame* caller_of(Frame* frame) {
    return python_frame(frame->previous);
}

inline Frame* outermost_frame(PyThreadState* state) {
    Frame* outermost = nullptr;
    for (Frame* frame = innermost_frame(state); frame; frame = caller_of(frame)) outermost = frame;
    return outermost;
}

// What the function was called on, for a method; nullptr when it has been deleted, or there is none.
inline PyObject* first_argument(const Frame* frame) {
    PyObject* first = code_of(frame)->co_argcount > 0 ? first_local(frame) : nullptr;
    return first && PyCell_Check(first) ? PyCell_GET(first) : first;
}

inline int line_of(const Frame* frame) {
    PyCodeObject* code = code_of(frame);
    const auto offset = instruction_of(frame) - _PyCode_CODE(code);
    return PyCode_Addr2Line(code, int(offset * Py_ssize_t(sizeof(_Py_CODEUNIT))));
}

}  // namespace kinetograph::collect
