// Functions whose calls are named after the object they are made on, such as the modules of a neural network.
//
// The name that is recorded tells objects apart, by a number within the process. What a reader sees is the
// number of the object among those of its class in one trace, which is known only once that is built: see
// trace/object_numbers.h. Objects are known by weak references, so that none lives longer for being named.
// Everything here needs the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "collect/python_calls/frames.h"

namespace kinetograph::collect {

// From the next decision about this code on; `kind` stands in front of the name of the class. The code is
// held: it belongs to a library.
void name_by_object(PyCodeObject* code, std::string kind);
bool is_named_by_object(const PyCodeObject* code);
size_t count_named_by_object();

// Of a call of such code; 0 when there is no object, or none that can be told from others.
uint32_t object_name(const Frame* frame);

// Before the first session that may name objects: numbers begin anew, and with them the names.
void forget_objects();

}  // namespace kinetograph::collect
