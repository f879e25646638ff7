// The extension module `kinetograph._native`: bindings only, no logic.
#include <nanobind/nanobind.h>

#include "bind/agent.h"
#include "bind/block_end.h"
#include "bind/cuda.h"
#include "bind/cuda_events.h"
#include "bind/emission.h"
#include "bind/emitted_calls.h"
#include "bind/hooks.h"
#include "bind/intra_kernel.h"
#include "bind/marks.h"
#include "bind/merge.h"
#include "bind/other_tools.h"
#include "bind/python_calls.h"
#include "bind/python_samples.h"
#include "bind/python_thread.h"
#include "bind/scope.h"
#include "bind/session_files.h"
#include "bind/sessions.h"
#include "bind/trace.h"
#include "kinetograph/record_abi.h"
#include "record/thread_buffer.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
    // The recorder is one per process, and so are its scopes: a second interpreter would take them from the
    // first.
    static auto* const internals_of_main = nb::detail::internals;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        nb::detail::internals = internals_of_main;  // which nanobind has just replaced
        throw nb::import_error("kinetograph records the main interpreter only");
    }
    nb::set_leak_warnings(false);  // shared scopes live until the process ends, on purpose
    module.attr("RECORD_ABI") = KINETOGRAPH_RECORD_ABI;
    if (kinetograph::bind::add_hooks(module.ptr()) != 0 ||
        kinetograph::bind::add_scope_types(module.ptr()) != 0 ||
        kinetograph::bind::add_marks(module.ptr()) != 0)
        throw nb::python_error();
    kinetograph::record::context_of_thread.store(&kinetograph::bind::context_of_this_thread);
    kinetograph::bind::bind_block_end(module);
    kinetograph::bind::bind_trace(module);
    kinetograph::bind::bind_merge(module);
    kinetograph::bind::bind_sessions(module);
    kinetograph::bind::bind_python_calls(module);
    kinetograph::bind::bind_python_samples(module);
    kinetograph::bind::bind_session_files(module);
    kinetograph::bind::bind_cuda(module);
    kinetograph::bind::bind_cuda_events(module);
    kinetograph::bind::bind_emission(module);
    kinetograph::bind::bind_emitted_calls(module);
    kinetograph::bind::bind_other_tools(module);
    kinetograph::bind::bind_agent(module);
    kinetograph::bind::bind_intra_kernel(module);
}
