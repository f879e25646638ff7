// Python's values as those that tools are told. With the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

#include "emit/range.h"

namespace kinetograph::bind {

// Of an int or a float; anything else, and what 64 bits cannot hold, is none. Never raises.
emit::Payload payload_of(PyObject* value);

// `color` is ARGB, negative: none.
emit::Look look_of(int64_t color, uint32_t category, PyObject* payload);

}  // namespace kinetograph::bind
