#include "bind/sessions.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/gil.h"
#include "bind/os_errors.h"
#include "bind/python_thread.h"
#include "bind/text.h"
#include "bind/trace.h"
#include "collect/python_names/origins.h"
#include "format/json_check.h"
#include "record/recorder.h"
#include "trace/begin_at.h"
#include "trace/builder.h"
#include "trace/call_depth.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

using record::Recorder;

// Into `kept`, for a signal's handler may raise as soon as we return, and what we return would be gone with
// it.
void start_session(nb::list kept, bool all_threads, bool starts_paused, uint64_t memory_limit_bytes,
                   bool drop_at_limit, uint64_t ring_bytes, int64_t ring_ns, std::string spill_directory,
                   std::string session_directory) {
    record::SessionOptions options;
    options.all_threads = all_threads;
    options.starts_paused = starts_paused;
    options.ring_bytes = ring_bytes;
    options.ring_ns = ring_ns;
    options.limits = {memory_limit_bytes, drop_at_limit ? record::AtLimit::drop : record::AtLimit::spill,
                      std::move(spill_directory)};
    options.session_directory = std::move(session_directory);
    kept.append(
        with_os_errors(options.session_directory, [&] { return Recorder::instance().start(options); }));
    ask_once_for_name();
}

// Into `kept`, as above. What may be given by keyword only says what of the recording this session wants: see
// trace::Wanted.
void stop_session(uint64_t id, nb::list kept, uint64_t categories, uint32_t scopes, bool input_shapes,
                  bool flops, bool stacks, bool samples, bool device_work, bool device_waits,
                  bool device_memory, bool whole_graphs, bool timed_scopes, bool functions, bool garbage,
                  bool objects, bool c_calls, bool call_lines, int64_t min_call_ns, uint32_t max_depth,
                  std::vector<std::string> include, std::vector<std::string> exclude, int64_t begin_ns) {
    trace::BuildOptions options;
    options.calls = {.functions = functions,
                     .garbage = garbage,
                     .objects = objects,
                     .builtins = c_calls,
                     .lines = call_lines,
                     .shortest_ns = min_call_ns,
                     .by_name = {}};
    if (!include.empty() || !exclude.empty())
        options.calls.by_name = collect::name_filter({std::move(include), std::move(exclude)});
    options.wanted = {.categories = categories,
                      .scopes = scopes,
                      .input_shapes = input_shapes,
                      .flops = flops,
                      .stacks = stacks,
                      .samples = samples,
                      .device_work = device_work,
                      .device_waits = device_waits,
                      .device_memory = device_memory,
                      .whole_graphs = whole_graphs,
                      .timed_scopes = timed_scopes};
    options.scope_cost_ns = Recorder::scope_cost_ns();
    options.clean_members = format::clean_members;
    trace::Trace trace = [&] {
        const WithoutGil unlocked;
        record::Recording recording = Recorder::instance().stop(id);
        trace::begin_at(recording, begin_ns);
        const trace::DepthLimit limit = trace::depth_limit(max_depth, recording);
        trace::Trace built = trace::build_trace(std::move(recording), options);
        trace::limit_call_depth(built, limit);
        return built;
    }();
    kept.append(wrap_trace(std::move(trace)));
}

void discard_session(uint64_t id) {
    const WithoutGil unlocked;
    Recorder::instance().stop(id);
}

bool join_session(uint64_t id) {
    const bool joined = Recorder::instance().join(id);
    ask_once_for_name();
    return joined;
}

nb::list sessions() {
    nb::list list;
    for (const record::SessionInfo& info : Recorder::instance().sessions())
        list.append(nb::make_tuple(info.id, info.owner_tid, info.all_threads));
    return list;
}

bool is_recording() {
    return record::active.load(std::memory_order_relaxed) & record::active_sessions;
}

// Events that other parts measured themselves: on a device, or allocations. Times are wall nanoseconds.
void record_device_event(std::string_view name, uint8_t category, int64_t start_ns, int64_t end_ns,
                         uint8_t device_type, int32_t device_index, int64_t resource, uint32_t correlation,
                         nb::bytes args) {
    record::ThreadBuffer* thread = is_recording() ? recording_python_thread() : nullptr;
    if (!thread) return;
    const record::DevicePlace place{device_type, {}, device_index, resource};
    const uint32_t id = Recorder::instance().intern(name);
    record::append_device_span(*thread,
                               {uint64_t(start_ns), uint64_t(end_ns), id, record::RecordKind::device_span,
                                category, 0, 0, 0, 0, correlation},
                               place, args.c_str(), args.size());
}

void record_instant(std::string_view name, uint8_t category, bool is_memory, nb::bytes args) {
    record::ThreadBuffer* thread = is_recording() ? recording_python_thread() : nullptr;
    if (!thread) return;
    const uint64_t now = base::ticks();
    const auto kind = is_memory ? record::RecordKind::memory : record::RecordKind::instant;
    record::append_with_payload(*thread,
                                {now, now, Recorder::instance().intern(name), kind, category, 0, 0,
                                 record::lane_number_of(*thread, current_context()), 0, 0},
                                nullptr, args.c_str(), args.size());
}

void set_observing(bool on) {
    if (on)
        record::active.fetch_or(record::active_observers, std::memory_order_relaxed);
    else
        record::active.fetch_and(~uint32_t(record::active_observers), std::memory_order_relaxed);
}

}  // namespace

void bind_sessions(nb::module_& module) {
    module.def("start_session", &start_session, "kept"_a, "all_threads"_a, "starts_paused"_a,
               "memory_limit_bytes"_a, "drop_at_limit"_a, "ring_bytes"_a, "ring_ns"_a, "spill_directory"_a,
               "session_directory"_a,
               nb::sig("def start_session(kept: list[int], all_threads: bool, starts_paused: bool, "
                       "memory_limit_bytes: int, drop_at_limit: bool, ring_bytes: int, ring_ns: int, "
                       "spill_directory: str, session_directory: str) -> None"));
    module.def(
        "stop_session", &stop_session, "session"_a, "kept"_a, nb::kw_only(), "categories"_a = ~uint64_t(0),
        "scopes"_a = 0, "input_shapes"_a = true, "flops"_a = true, "stacks"_a = true, "samples"_a = true,
        "device_work"_a = true, "device_waits"_a = true, "device_memory"_a = true, "whole_graphs"_a = false,
        "timed_scopes"_a = true, "functions"_a = true, "garbage"_a = true, "objects"_a = true,
        "c_calls"_a = true, "call_lines"_a = true, "min_call_ns"_a = 0, "max_depth"_a = UINT32_MAX,
        "include"_a = nb::list(), "exclude"_a = nb::list(), "begin_ns"_a = 0,
        nb::sig(
            "def stop_session(session: int, kept: list[Trace], *, categories: int = ..., scopes: int = 0, "
            "input_shapes: bool = True, flops: bool = True, stacks: bool = True, samples: bool = True, "
            "device_work: bool = True, "
            "device_waits: bool = True, device_memory: bool = True, whole_graphs: bool = False, "
            "timed_scopes: bool = True, functions: "
            "bool = True, garbage: bool = True, objects: bool = True, "
            "c_calls: bool = True, call_lines: bool = True, min_call_ns: int = 0, "
            "max_depth: int = ..., include: Sequence[str] = ..., exclude: Sequence[str] = ..., "
            "begin_ns: int = 0) -> None"));
    module.def(
        "is_session_running", [](uint64_t id) { return Recorder::instance().is_running(id); }, "session"_a);
    module.def("join_session", &join_session, "session"_a);
    module.def("leave_session", [](uint64_t id) { return Recorder::instance().leave(id); }, "session"_a);
    module.def("pause_session", [](uint64_t id) { return Recorder::instance().pause(id); }, "session"_a);
    module.def("resume_session", [](uint64_t id) { return Recorder::instance().resume(id); }, "session"_a);
    module.def(
        "hold_ring", [](uint64_t id, bool is_held) { Recorder::instance().hold_ring(id, is_held); },
        "session"_a, "is_held"_a);
    module.def("discard_session", &discard_session, "session"_a);
    module.def("sessions", &sessions, nb::sig("def sessions() -> list[tuple[int, int, bool]]"));
    module.def("is_recording", &is_recording);
    module.def("record_device_event", &record_device_event, "name"_a, "category"_a, "start_ns"_a, "end_ns"_a,
               "device_type"_a, "device_index"_a, "resource"_a, "correlation"_a, "args"_a);
    module.def("record_instant", &record_instant, "name"_a, "category"_a, "is_memory"_a, "args"_a);
    module.def("set_observing", &set_observing, "on"_a);
    module.def("is_observing", [] {
        return (record::active.load(std::memory_order_relaxed) & record::active_observers) != 0;
    });
    module.def("tick_source", [] { return base::tick_source_name(base::tick_source); });
    module.def(
        "suggest_thread_name",
        [](int32_t tid, nb::str name) {
            return Recorder::instance().suggest_thread_name(tid, from_python(name));
        },
        "tid"_a, "name"_a);
    module.def("thread_count", [] { return Recorder::instance().thread_count(); });
    module.def("memory_bytes", [] { return Recorder::instance().memory_bytes(); });
    module.def("string_count", [] { return Recorder::instance().strings().size(); });
}

}  // namespace kinetograph::bind
