// Scopes, marks and counters of Python on their way to other tools. With the GIL, while `active_emission` is
// set.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/scope_object.h"

namespace kinetograph::bind {

// False with an exception set only when the user interrupted the program meanwhile.
bool emit_begin(ScopeObject* scope);
void emit_end(ScopeObject* scope);
void emit_mark(PyObject* name);
void emit_count(PyObject* name, double value);

void bind_emission(nanobind::module_& module);

}  // namespace kinetograph::bind
