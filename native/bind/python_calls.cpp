#include "bind/python_calls.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/garbage.h"
#include "collect/python_calls/hook.h"
#include "collect/python_calls/other_threads.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

void start_calls(std::vector<std::string> include, std::vector<std::string> exclude, uint32_t max_depth,
                 int64_t min_duration_ns, bool c_calls, bool call_lines, bool python_calls,
                 bool garbage_collection, bool scope_stacks, bool functions, bool objects) {
    const collect::CallOptions options{{{std::move(include), std::move(exclude)}, functions, objects},
                                       max_depth,
                                       min_duration_ns,
                                       c_calls,
                                       call_lines,
                                       python_calls,
                                       garbage_collection,
                                       scope_stacks};
    if (!collect::start_calls(options)) throw nb::python_error();
}

void name_calls_by_object(nb::handle code, std::string kind) {
    if (!PyCode_Check(code.ptr())) throw nb::type_error("expected a code object");
    if (!collect::name_calls_by_object(reinterpret_cast<PyCodeObject*>(code.ptr()), std::move(kind)))
        throw nb::python_error();
}

}  // namespace

void bind_python_calls(nb::module_& module) {
    module.def("start_calls", &start_calls, nb::kw_only(), "include"_a, "exclude"_a, "max_depth"_a,
               "min_duration_ns"_a, "c_calls"_a, "call_lines"_a, "python_calls"_a, "garbage_collection"_a,
               "scope_stacks"_a, "functions"_a = true, "objects"_a = false,
               "Record Python calls from now on, or by other rules than before.");
    module.def("stop_calls", &collect::stop_calls);
    module.def("name_calls_by_object", &name_calls_by_object, "code"_a, "kind"_a,
               "Name calls of this code after the class and number of their first argument, from now on.");
    module.def(
        "missed_calls",
        [] {
            const collect::MissedCalls missed = collect::missed_calls();
            return std::make_tuple(missed.taken, missed.unseen_threads, missed.late_threads,
                                   missed.late_ends);
        },
        "Threads whose hook another tool has taken, threads never seen, threads seen late, calls that ended "
        "unseen; all but the first since the process began.");
    // What the interpreter collects while it ends is no pause of the program's.
    module.def("stop_watching_garbage", [] { collect::watch_garbage_collection(false); });
    module.def(
        "record_other_threads", [](bool stacks) { collect::record_other_threads({stacks}); }, "stacks"_a,
        "Record the names of the other threads, and the calls they have open.");
}

}  // namespace kinetograph::bind
