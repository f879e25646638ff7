// Frames of the interpreter, whose layout changes with every CPython: no other file knows it.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"  // they hold anonymous structs
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#pragma GCC diagnostic pop

namespace kinetograph::collect {

using Frame = _PyInterpreterFrame;

#if PY_VERSION_HEX < 0x030d0000
inline Frame* newest_frame(PyThreadState* state) {
    return state->cframe ? state->cframe->current_frame : nullptr;
}
inline PyCodeObject* code_of(const Frame* frame) {
    return frame->f_code;
}
inline const _Py_CODEUNIT* instruction_of(const Frame* frame) {
    return frame->prev_instr;
}
#else
inline Frame* newest_frame(PyThreadState* state) {
    return state->current_frame;
}
inline PyCodeObject* code_of(const Frame* frame) {
    return reinterpret_cast<PyCodeObject*>(frame->f_executable);
}
inline const _Py_CODEUNIT* instruction_of(const Frame* frame) {
    return frame->instr_ptr;
}
#endif

#if PY_VERSION_HEX < 0x030c0000
inline bool is_python_frame(Frame* frame) {
    return !_PyFrame_IsIncomplete(frame);
}
#else
inline bool is_python_frame(Frame* frame) {
    return frame->owner != FRAME_OWNED_BY_CSTACK && !_PyFrame_IsIncomplete(frame);
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
    PyObject* first = code_of(frame)->co_argcount > 0 ? frame->localsplus[0] : nullptr;
    return first && PyCell_Check(first) ? PyCell_GET(first) : first;
}

inline int line_of(const Frame* frame) {
    PyCodeObject* code = code_of(frame);
    const auto offset = instruction_of(frame) - _PyCode_CODE(code);
    return PyCode_Addr2Line(code, int(offset * Py_ssize_t(sizeof(_Py_CODEUNIT))));
}

}  // namespace kinetograph::collect
