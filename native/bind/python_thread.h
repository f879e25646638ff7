// What the recorder needs to know of the Python thread that runs now. Call with the GIL.
#pragma once

#include <Python.h>

#include "record/thread_buffer.h"

namespace kinetograph::bind {

// Names a thread the recorder has not met before, as Python's threading calls it.
void name_new_thread();

// The buffer of this thread if a session records it, else nullptr.
inline record::ThreadBuffer* recording_python_thread() {
    const bool is_new = record::current_thread == nullptr;
    record::ThreadBuffer* thread = record::recording_thread();
    if (is_new) [[unlikely]]
        name_new_thread();
    return thread;
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

// The lane of the running task; a lane that is new to it is named after it.
record::Lane& open_lane(record::ThreadBuffer& thread, uintptr_t context);

inline record::Lane& current_lane(record::ThreadBuffer& thread) {
    const uintptr_t context = current_context();
    if (thread.lane->context == context) [[likely]]
        return *thread.lane;
    return open_lane(thread, context);
}

}  // namespace kinetograph::bind
