// The extension module `kinetograph._native`: bindings only, no logic.
#include <nanobind/nanobind.h>

#include "bind/hooks.h"
#include "bind/scope.h"
#include "bind/sessions.h"
#include "bind/trace.h"
#include "kinetograph/record_abi.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // shared scopes live until the process ends, on purpose
    module.attr("RECORD_ABI") = KINETOGRAPH_RECORD_ABI;
    if (kinetograph::bind::add_hooks(module.ptr()) != 0 ||
        kinetograph::bind::add_scope_types(module.ptr()) != 0)
        throw nb::python_error();
    kinetograph::bind::bind_trace(module);
    kinetograph::bind::bind_sessions(module);
}
