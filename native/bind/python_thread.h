// What the recorder needs to know of the Python thread that runs now. Call with the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

#include "record/thread_buffer.h"

namespace kinetograph::bind {

// Names this thread as Python's threading calls it, if that knows it.
void ask_for_name();

// Once. Not only of a thread that the recorder has not met before: what its libraries annotate comes without
// us.
inline void ask_once_for_name() {
    if (record::current_thread == nullptr || !record::current_thread->was_asked_for_name) [[unlikely]]
        ask_for_name();
}

// The buffer of this thread if a session records it, else nullptr. Good until Python code runs: that may
// fork, and in the child there is no such buffer.
inline record::ThreadBuffer* recording_python_thread() {
    ask_once_for_name();
    return record::recording_thread();
}

// Gives the thread a context of its own, if nothing has asked for one yet, and returns it.
uintptr_t make_context(PyThreadState* state);

// The contextvars context: one per asyncio task. It tells interleaved tasks of a thread apart.
inline uintptr_t current_context() {
    PyThreadState* state = PyThreadState_Get();
    if (state->context) [[likely]]
        return reinterpret_cast<uintptr_t>(state->context);
    return make_context(state);
}

// The same from native code, with or without the GIL: what the recorder asks for.
uintptr_t context_of_this_thread();

// Names a lane after the asyncio task that runs, if one does.
void name_lane(uint16_t lane);

}  // namespace kinetograph::bind
