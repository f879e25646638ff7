// When a frame of CPython 3.11 ends that ran before anybody evaluated frames.
//
// Its frame object gets a witness, in the place for the trace function of that frame, which dies with it. If
// somebody keeps the frame object, as a traceback does, or has a trace function there, nobody tells.
#pragma once

#include <Python.h>

#include <cstdint>

namespace kinetograph::collect {

// `has_ended` is called in the thread of the frame, with the GIL and perhaps an exception set.
void watch_ends(PyThreadState* state, void (*has_ended)(uintptr_t frame));
void forget_ends(PyThreadState* state);

}  // namespace kinetograph::collect
