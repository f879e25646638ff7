// What a function is called, and whether it is wanted: decided once per code object and kept in it.
//
// The decision lies in a slot of the code object's own (PEP 523's extra), so that it is found with two loads
// and goes when the code goes. A number of the configuration it was made under tells whether it still holds.
// Everything here needs the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

#include "base/visibility.h"
#include "collect/python_names/filter.h"

namespace kinetograph::collect {

// generation << 33 | excluded << 32 | name: so that one comparison of the upper half tells both that the
// decision holds and that calls are recorded. Whoever reads names on the way of every call takes `excluded`
// for the whole truth; the words of functions that are named and yet not recorded just so have it set, too.
struct CodeWord {
    uint64_t bits = 0;

    uint32_t generation() const { return uint32_t(bits >> 33); }
    uint32_t name() const { return uint32_t(bits); }
    bool is_excluded() const { return bits & excluded; }
    uint32_t upper_half() const { return uint32_t(bits >> 32); }
    static constexpr uint32_t upper_half_if_recorded(uint32_t generation) { return generation << 1; }
    // Generations begin with 1, and what is not decided yet has 0.
    static constexpr uint32_t upper_half_of_none = 1;
    // A function of this package. What it calls is no doing of the program's, but for the few functions
    // through which the package calls the program.
    bool is_own() const { return lower_half() == own; }
    bool is_way_to_program() const { return lower_half() == way_to_program; }
    // The line of our .pth file: what runs around it is Python, getting ready for the program.
    bool is_line_of_pth() const { return lower_half() == line_of_pth; }
    // Its calls are recorded under the names of the objects they are made on (object_names.h).
    bool is_by_object() const { return (bits & by_object) == by_object; }
    bool is_recorded() const { return !is_excluded() || is_by_object(); }
    // Stacks show it, whether its calls are recorded or not.
    bool has_name() const { return !is_excluded() || (bits & only_named) == only_named; }
    uint32_t name_in_stacks() const { return is_excluded() ? name() & most_names : name(); }

    // An excluded function has no name, so the place is free.
    static constexpr uint64_t excluded = uint64_t(1) << 32, own = excluded | 1, way_to_program = excluded | 2,
                              line_of_pth = excluded | 3;
    // Above the name; nobody has so many names.
    static constexpr uint64_t only_named = excluded | uint64_t(1) << 31, by_object = only_named | 1 << 30;
    static constexpr uint32_t most_names = (uint32_t(1) << 30) - 1;

private:
    uint64_t lower_half() const { return bits & ((uint64_t(1) << 33) - 1); }
};
inline constexpr uint32_t max_generation = (uint32_t(1) << 31) - 1;

KINETOGRAPH_INTERNAL extern Py_ssize_t code_slot;

inline CodeWord word_of(const PyCodeObject* code) {
    struct Extra {
        Py_ssize_t size;
        uint64_t slots[1];
    };
    const auto* extra = static_cast<const Extra*>(code->co_extra);
    if (!extra || extra->size <= code_slot) [[unlikely]]
        return {};
    return {extra->slots[code_slot]};
}

// Takes a slot, at the first call. False with an exception set where the interpreter keeps them in another
// way.
bool take_code_slot();

struct WantedFunctions {
    CallFilter filter;
    bool functions = true;  // calls of those that the filter wants
    bool objects = false;   // calls that are named by object, whatever the filter wants

    bool operator==(const WantedFunctions&) const = default;
};

// From now on decisions are made by this and the sys.path of this moment. False with an exception.
bool prepare_names(const WantedFunctions& functions);

Origin origin_of(const PyCodeObject* code);

// Decides anew, for this generation.
CodeWord decide(PyCodeObject* code, uint32_t generation);

// A C function or method, and not something else that can be called.
inline bool is_builtin(PyObject* callable) {
    return PyCFunction_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type);
}
inline constexpr uint32_t own_builtin = 0;  // the name of all that are ours
uint32_t builtin_name(PyObject* callable);

}  // namespace kinetograph::collect
