#include "bind/cuda_events.h"

#include "bind/gil.h"
#include "bind/python_thread.h"
#include "bind/scope_object.h"
#include "collect/cuda_events/collector.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// The driver may wait for work of the program's that waits for the GIL: so nothing of it is called with that.
uint64_t begin_timed_scope(nb::str name, int device, uint64_t stream) {
    const record::ThreadBuffer* thread = recording_python_thread();
    if (!thread) return 0;
    const uint32_t name_id = intern_text(name.ptr());
    const int32_t tid = thread->tid;
    const WithoutGil unlocked;
    return collect::begin_timed_scope(name_id, tid, {device, stream});
}

void end_timed_scope(uint64_t number, int device, uint64_t stream) {
    const WithoutGil unlocked;
    collect::end_timed_scope(number, {device, stream});
}

template <void (*call)()>
void without_gil() {
    const WithoutGil unlocked;
    call();
}

nb::tuple scope_times() {
    const collect::ScopeTimes times = collect::scope_times();
    return nb::make_tuple(times.timed, times.captured, times.elsewhere, times.lost, times.error_ns);
}

}  // namespace

void bind_cuda_events(nb::module_& module) {
    // Now, and not in the first session: that may be one of a forked child, begun in a handler of the fork.
    collect::prepare_scope_timer();
    module.def("start_scope_timer", &without_gil<collect::start_scope_timer>);
    module.def("stop_scope_timer", &without_gil<collect::stop_scope_timer>);
    module.def("flush_timed_scopes", &without_gil<collect::flush_timed_scopes>);
    module.def("scope_timer_is_ready", &collect::scope_timer_is_ready);
    module.def("begin_timed_scope", &begin_timed_scope, "name"_a, "device"_a, "stream"_a);
    module.def("end_timed_scope", &end_timed_scope, "number"_a, "device"_a, "stream"_a);
    module.def("scope_times", &scope_times, nb::sig("def scope_times() -> tuple[int, int, int, int, int]"));
}

}  // namespace kinetograph::bind
