// The object behind `with kg.scope("x")`.
//
// One object per name serves everybody: what is open is on the thread's own stack, not in the object. A scope
// with arguments is an object of its own.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string_view>

#include "emit/name.h"
#include "record/extent.h"

namespace kinetograph::bind {

struct ScopeObject {
    PyObject_HEAD PyObject* name;  // str
    PyObject* enter;  // bound methods, made once for a shared object: `with` then allocates nothing
    PyObject* exit;
    PyObject* details;    // None, or what `describe` turns into the arguments of the event
    uint32_t name_id;     // 0 or forgotten: not interned yet
    uint32_t meta;        // record::open_meta
    emit::Name* emitted;  // what other tools know the name by; nullptr: nobody has asked yet
};

extern PyTypeObject scope_type;

inline bool is_scope(PyObject* object) {
    return Py_TYPE(object) == &scope_type;
}

// New reference to the shared object of this name. `name` must be a str.
PyObject* shared_scope(PyObject* name);

// The id of the scope's name, interned at first need.
uint32_t name_id_of(ScopeObject* scope);

// The UTF-8 of a str, for interning; lone surrogates are spelled out as \udcXX.
uint32_t intern_text(PyObject* text);

// False with an exception set only when the user interrupted the program meanwhile.
bool begin(ScopeObject* scope, uint32_t active_bits);
bool end(ScopeObject* scope, uint32_t active_bits);

}  // namespace kinetograph::bind
