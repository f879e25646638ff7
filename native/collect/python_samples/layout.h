// How CPython lays out what a sample is made of, as bytes to be read: no other file here knows a version.
//
// Nothing here follows a pointer.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#endif
#undef Py_BUILD_CORE
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>

#include "collect/python_samples/interpreter_layout.h"

namespace kinetograph::collect {

template <class T>
uintptr_t address_of(const T* object) {
    return reinterpret_cast<uintptr_t>(object);
}

// ---- threads

inline uintptr_t thread_head_address(uintptr_t interpreter) {
    return interpreter + thread_head_offset;
}

inline constexpr size_t state_bytes = offsetof(PyThreadState, datastack_limit) + sizeof(PyObject**);

// The beginning of a PyThreadState.
struct StateBytes {
    alignas(PyThreadState) std::byte bytes[state_bytes];

    const PyThreadState& get() const { return *reinterpret_cast<const PyThreadState*>(bytes); }
};

// Where the pointer to the innermost frame lies.
inline uintptr_t newest_frame_address([[maybe_unused]] const PyThreadState& state,
                                      [[maybe_unused]] uintptr_t address) {
#if PY_VERSION_HEX < 0x030d0000
    return state.cframe ? address_of(state.cframe) + offsetof(_PyCFrame, current_frame) : 0;
#else
    return address + offsetof(PyThreadState, current_frame);
#endif
}

// ---- frames

inline constexpr size_t frame_bytes = offsetof(_PyInterpreterFrame, localsplus);

struct FrameView {
    uintptr_t code = 0;
    uintptr_t previous = 0;
    uintptr_t instruction = 0;
    bool is_suspended = false;     // it has called a Python function from its own bytecode, or may have
    bool is_entered_by_c = false;  // 3.11: C code called this function
    bool is_from_c = false;        // 3.12 and later: no Python frame, but the mark that C code left
    bool is_generator = false;
    bool has_direct_callee = false;  // known to whoever has read the callee

    bool operator==(const FrameView&) const = default;
};

// From 3.14 on a frame that runs looks like one that waits for its callee.
inline constexpr bool tells_suspension = PY_VERSION_HEX < 0x030e0000;

inline bool is_suspended(const _PyInterpreterFrame& frame) {
#if PY_VERSION_HEX < 0x030e0000
    // A frame that runs has -1 here; it is set when another is entered without leaving the interpreter loop.
    return frame.stacktop >= 0;
#else
    return frame.stackpointer != nullptr;
#endif
}

// Whether it is the mark that C code leaves, from 3.12 on, where it calls a Python function.
inline bool is_mark_of_c([[maybe_unused]] const _PyInterpreterFrame& frame) {
#if PY_VERSION_HEX < 0x030c0000
    return false;
#elif PY_VERSION_HEX < 0x030e0000
    return frame.owner == FRAME_OWNED_BY_CSTACK;
#else
    return frame.owner >= FRAME_OWNED_BY_INTERPRETER;
#endif
}

inline uintptr_t code_address(const _PyInterpreterFrame& frame) {
#if PY_VERSION_HEX < 0x030d0000
    return address_of(frame.f_code);
#elif PY_VERSION_HEX < 0x030e0000
    return address_of(frame.f_executable);
#else
    constexpr uintptr_t tags = 3;  // how the reference is counted
    return frame.f_executable.bits & ~tags;
#endif
}

inline FrameView view_of(const std::byte* bytes) {
    const auto& frame = *reinterpret_cast<const _PyInterpreterFrame*>(bytes);
    FrameView view;
    view.code = code_address(frame);
    view.previous = address_of(frame.previous);
    view.is_suspended = is_suspended(frame);
    view.is_from_c = is_mark_of_c(frame);
    view.is_generator = frame.owner == FRAME_OWNED_BY_GENERATOR;
#if PY_VERSION_HEX < 0x030c0000
    view.is_entered_by_c = frame.is_entry;
#endif
#if PY_VERSION_HEX < 0x030d0000
    view.instruction = address_of(frame.prev_instr);
#else
    view.instruction = address_of(frame.instr_ptr);
#endif
    return view;
}

inline constexpr size_t code_bytes = offsetof(PyCodeObject, co_code_adaptive);

// Whether the function of a frame is only just being called, or, from 3.14 on, is at its first instruction.
inline bool is_being_entered(const FrameView& frame) {
    return frame.is_suspended && !frame.is_from_c && frame.instruction <= frame.code + code_bytes;
}

// A frame that is being entered may still name the caller that the one before it at this place had; and a
// thread may be kept from going on at any point, for as long as we look. From 3.14 on a frame has its caller
// before it becomes the newest one.
inline bool may_name_another_caller(const FrameView& newest) {
    return tells_suspension && is_being_entered(newest);
}

// From 3.12 on C code that calls a Python function leaves a frame of its own below it.
inline constexpr bool has_mark_of_c = PY_VERSION_HEX >= 0x030c0000;

// Whether a stack can end with this frame. A generator that is just left, or entered, has no caller for a
// moment; one that C code runs as the outermost frame of a thread looks the same in 3.11, and is given up.
inline bool can_be_outermost(const FrameView& frame) {
#if PY_VERSION_HEX < 0x030c0000
    return frame.is_entered_by_c && !frame.is_generator;
#else
    return frame.is_from_c;
#endif
}

// ---- code

// What tells one code object from another that came to lie at the same address.
struct CodeView {
    uintptr_t type = 0;
    uintptr_t file = 0, name = 0, qualified_name = 0;
    int line = 0;
    uint32_t version = 0;  // of this object and no other, from 3.12 on; 0: not known
    int64_t instructions = 0;
    int first_traceable = 0;

    bool operator==(const CodeView&) const = default;
    bool is_code() const { return type == address_of(&PyCode_Type); }
};

struct CodeBytes {
    alignas(PyCodeObject) std::byte bytes[code_bytes];

    CodeView view() const {
        const auto& code = *reinterpret_cast<const PyCodeObject*>(bytes);
        CodeView view;
        view.type = address_of(code.ob_base.ob_base.ob_type);
        view.file = address_of(code.co_filename);
        view.name = address_of(code.co_name);
        view.qualified_name = address_of(code.co_qualname);
        view.line = code.co_firstlineno;
        view.instructions = code.ob_base.ob_size;
        view.first_traceable = code._co_firsttraceable;
#if PY_VERSION_HEX >= 0x030c0000
        view.version = code.co_version;
#endif
        return view;
    }
};

// The same question as _PyFrame_IsIncomplete, asked of what was read.
inline bool is_complete(const FrameView& frame, const CodeView& code) {
    const uintptr_t first = frame.code + code_bytes + sizeof(_Py_CODEUNIT) * uintptr_t(code.first_traceable);
    return frame.is_generator || frame.instruction >= first;
}

// Frames that the interpreter puts between a class and its __init__ have such code: nothing of it is for us.
inline bool is_trampoline(const CodeView& code) {
    return code.first_traceable >= code.instructions;
}

// Whether the frame runs this code: its place lies in it, or before its begin.
inline bool belongs_to(const FrameView& frame, const CodeView& code) {
    const uintptr_t begin = frame.code + code_bytes - sizeof(_Py_CODEUNIT);
    return frame.instruction >= begin &&
           frame.instruction <= begin + sizeof(_Py_CODEUNIT) * (uintptr_t(code.instructions) + 1);
}

}  // namespace kinetograph::collect
