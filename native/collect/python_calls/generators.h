// What a frame of CPython 3.11 is about to do, as far as generators and coroutines go.
#pragma once

#include <Python.h>
#include <opcode.h>

#include <cstdint>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/frames.h"

namespace kinetograph::collect {

inline bool is_generator(const PyCodeObject* code) {
    return code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
}

// The call of a generator function only makes the generator. Its code runs when it is asked for a value.
inline bool makes_generator(const Frame* frame) {
    return is_generator(code_of(frame)) && frame->owner != FRAME_OWNED_BY_GENERATOR;
}

// The first run goes on behind RETURN_GENERATOR, or stands at the RESUME that follows it; a later one at a
// RESUME of another kind, or where it yielded.
inline bool is_first_run(const Frame* frame) {
    const _Py_CODEUNIT instruction = *instruction_of(frame);
    const int opcode = _Py_OPCODE(instruction);
    if (opcode == RETURN_GENERATOR) return true;
    return (opcode == RESUME || opcode == RESUME_QUICK || opcode == DO_TRACING) &&
           _Py_OPARG(instruction) == 0;
}

inline uint32_t meta_of(const Frame* frame) {
    return is_generator(code_of(frame)) && !is_first_run(frame) ? resumed_meta : call_meta;
}

}  // namespace kinetograph::collect
