// What our own functions call of other people's, the standard library above all, is not the program's doing:
// such a call and all inside it go unrecorded.
//
// It is told by who calls it, so that functions in between that a filter leaves out hide us. The outermost
// one is remembered by its frame. Should its end go unseen, it is found out that the frame is gone.
#pragma once

#include <cstdint>

#include "collect/python_calls/code_names.h"
#include "collect/python_calls/frames.h"
#include "record/thread_buffer.h"

namespace kinetograph::collect {

inline uintptr_t key_of(const Frame* frame) {
    return reinterpret_cast<uintptr_t>(frame);
}

inline bool is_on_the_stack(uintptr_t key, PyThreadState* state) {
    Frame* frame = innermost_frame(state);
    while (frame && key_of(frame) != key) frame = caller_of(frame);
    return frame != nullptr;
}

// Whether this moment lies in a call that we have made.
inline bool is_in_own_call(record::ThreadBuffer& thread, PyThreadState* state) {
    if (thread.own_call == 0) [[likely]]
        return false;
    if (is_on_the_stack(thread.own_call, state)) return true;
    thread.own_call = 0;
    return false;
}

// Whether the frame, or the nearest outside of it, is one of ours. What its word was decided under does not
// matter for this.
inline bool is_own(Frame* frame) {
    frame = python_frame(frame);
    return frame && word_of(code_of(frame)).is_own();
}

// Of a frame that begins to run, called by `caller` or by C code.
inline bool begins_own_call(record::ThreadBuffer& thread, PyThreadState* state, const Frame* frame,
                            Frame* caller) {
    if (is_in_own_call(thread, state)) return true;
    if (!is_own(caller)) [[likely]]
        return false;
    thread.own_call = key_of(frame);
    return true;
}

// Of a frame that is about to end, or to be suspended.
inline bool ends_own_call(record::ThreadBuffer& thread, PyThreadState* state, const Frame* frame) {
    if (!is_in_own_call(thread, state)) return false;
    if (thread.own_call == key_of(frame)) thread.own_call = 0;
    return true;
}

}  // namespace kinetograph::collect
