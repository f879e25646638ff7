#include "bind/trace.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/reports.h"
#include "bind/text.h"
#include "bind/trace_files.h"
#include "bind/trace_object.h"
#include "format/json_check.h"
#include "format/json_text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

template <class T, class Owner>
nb::object view(const trace::Column<T>& column, std::shared_ptr<Owner> owner) {
    static T nothing{};  // NumPy wants an address even for no elements
    T* data = column.empty() ? &nothing : column.data();
    auto* keeper = new std::shared_ptr<Owner>(std::move(owner));
    nb::capsule capsule(keeper, [](void* p) noexcept { delete static_cast<std::shared_ptr<Owner>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {column.size()}, capsule));
}

// None for an optional column that no event needs.
nb::object column(TraceObject& self, std::string_view name) {
    const std::shared_ptr<trace::Trace> trace = self.share();
    const auto optional = [&](const auto& values) {
        return values.empty() ? nb::none() : view(values, trace);
    };
    if (name == "start_ns") return view(trace->start_ns, trace);
    if (name == "duration_ns") return view(trace->duration_ns, trace);
    if (name == "name") return view(trace->name, trace);
    if (name == "track") return view(trace->track, trace);
    if (name == "category") return view(trace->category, trace);
    if (name == "kind") return view(trace->kind, trace);
    if (name == "scope") return view(trace->scope, trace);
    if (name == "flags") return view(trace->flags, trace);
    if (name == "correlation") return optional(trace->correlation);
    if (name == "link") return optional(trace->link);
    if (name == "sequence") return optional(trace->sequence);
    if (name == "record_function") return optional(trace->record_function);
    const std::shared_ptr<trace::Nesting> nesting = self.nesting();
    if (name == "parent") return view(nesting->parent, nesting);
    if (name == "self_ns") return view(nesting->self_ns, nesting);
    if (name == "depth") return view(nesting->depth, nesting);
    const std::shared_ptr<trace::DeviceWork> work = self.device_work();
    const auto of_devices = [&](const auto& values) {
        return values.empty() ? nb::none() : view(values, work);
    };
    if (name == "launcher") return of_devices(work->launcher);
    if (name == "self_device_ns") return of_devices(work->self_ns);
    if (name == "device_ns") return of_devices(work->total_ns);
    throw nb::key_error(std::string(name).c_str());
}

// A pid or tid as it stands in JSON.
std::string json_scalar(nb::handle value) {
    if (nb::isinstance<nb::int_>(value)) return nb::cast<std::string>(nb::str(value));
    return format::quoted(from_python(value));
}

nb::list processes(const TraceObject& self) {
    nb::list rows;
    for (const trace::Process& process : self.trace().processes) {
        rows.append(nb::make_tuple(process.pid, to_python(process.name), to_python(process.labels),
                                   process.sort_index));
    }
    return rows;
}

nb::list tracks(const TraceObject& self) {
    nb::list rows;
    for (const trace::Track& track : self.trace().tracks) {
        rows.append(nb::make_tuple(track.process, track.tid, to_python(track.name), track.sort_index,
                                   track.parent, track.device_type, track.device_index));
    }
    return rows;
}

nb::list notes(const TraceObject& self) {
    nb::list rows;
    for (const trace::Note& note : self.trace().notes) {
        rows.append(nb::make_tuple(to_python(note.kind), to_python(note.text)));
    }
    return rows;
}

nb::list metadata(const TraceObject& self) {
    nb::list rows;
    for (const auto& [key, json] : self.trace().metadata)
        rows.append(nb::make_tuple(to_python(key), to_python(json)));
    return rows;
}

void set_metadata(TraceObject& self, nb::str key, nb::str json) {
    const std::string name = from_python(key);
    std::string value = format::compact_json(from_python(json));
    for (auto& [known, old] : self.change_texts().metadata) {
        if (known == name) {
            old = std::move(value);
            return;
        }
    }
    self.change_texts().metadata.emplace_back(name, std::move(value));
}

void store_args(trace::Trace& trace, size_t row, const std::string& members) {
    trace.fill<trace::TextRange>(trace.args, {});
    trace.args[row] = {trace.args_text.size(), members.size()};
    trace.args_text.append(members.data(), members.size());
}

size_t checked_row(const TraceObject& self, size_t row) {
    if (row >= self.trace().size()) throw nb::index_error("no such event");
    return row;
}

// Only the text changes: columns keep what they hold.
void set_args(TraceObject& self, size_t row, nb::str args_json) {
    checked_row(self, row);
    store_args(self.change_texts(), row, format::parse_event_args(from_python(args_json)).members);
}

nb::object args_of(const TraceObject& self, size_t row) {
    return to_python(self.trace().args_of(checked_row(self, row)));
}

void name_process(TraceObject& self, nb::object pid, nb::str name, nb::str labels,
                  std::optional<int64_t> sort_index) {
    trace::Trace& trace = self.change_rows();
    trace::Process& process = trace.processes[self.tracks().process(json_scalar(pid))];
    process.name = from_python(name);
    process.labels = from_python(labels);
    process.sort_index = sort_index ? std::to_string(*sort_index) : "";
}

void name_track(TraceObject& self, nb::object pid, nb::object tid, nb::str name,
                std::optional<int64_t> sort_index, uint8_t device_type, int32_t device_index) {
    trace::Trace& trace = self.change_rows();
    trace::Track& track = trace.tracks[self.tracks().track(json_scalar(pid), json_scalar(tid))];
    track.name = from_python(name);
    track.sort_index = sort_index ? std::to_string(*sort_index) : "";
    track.device_type = device_type;
    track.device_index = device_index;
}

// What append() takes besides the event itself.
struct Details {
    int64_t correlation;
    std::optional<uint8_t> scope;
    uint8_t flags;
    int64_t sequence;
};

void append_details(trace::Trace& trace, const format::EventArgs& args, const Details& details) {
    const size_t row = trace.size() - 1;
    const bool is_user = trace.category[row] == uint8_t(trace::Category::user_annotation);
    const auto usual = uint8_t(is_user ? record::RecordScope::user_scope : record::RecordScope::function);
    trace.scope.push_back(details.scope.value_or(usual));
    trace.flags.push_back(details.flags);
    const int64_t correlation = details.correlation != 0 ? details.correlation : args.correlation;
    if (correlation != 0 || !trace.correlation.empty()) {
        trace.fill<int64_t>(trace.correlation, 0);
        trace.correlation[row] = correlation;
    }
    const int64_t sequence = details.sequence >= 0 ? details.sequence : args.sequence;
    if (sequence >= 0 || !trace.sequence.empty()) {
        trace.fill<int64_t>(trace.sequence, -1);
        trace.sequence[row] = sequence;
    }
    if (args.record_function != 0 || !trace.record_function.empty()) {
        trace.fill<uint32_t>(trace.record_function, 0);
        trace.record_function[row] = args.record_function;
    }
    if (!trace.link.empty()) trace.link.push_back(-1);
    if (!args.members.empty() || !trace.args.empty()) store_args(trace, row, args.members);
}

// Rows come in any order; sort() puts them where they belong.
void append(TraceObject& self, nb::str name, std::string_view category, uint8_t kind, int64_t start_ns,
            int64_t duration_ns, nb::object pid, nb::object tid, nb::str track_name, nb::str args_json,
            int64_t correlation, std::optional<uint8_t> scope, uint8_t flags, int64_t sequence,
            uint8_t device_type, int32_t device_index) {
    const format::EventArgs args = format::parse_event_args(from_python(args_json));
    const std::string pid_json = json_scalar(pid), tid_json = json_scalar(tid),
                      event_name = from_python(name);
    trace::Trace& trace = self.change_rows();
    const uint32_t track_index = self.tracks().track(pid_json, tid_json);
    trace.start_ns.push_back(start_ns);
    trace.duration_ns.push_back(duration_ns);
    trace.name.push_back(trace.strings.intern(event_name));
    trace.track.push_back(track_index);
    trace.category.push_back(trace.category_id(category));
    trace.kind.push_back(kind);
    append_details(trace, args, {correlation, scope, flags, sequence});
    trace::Track& track = trace.tracks[track_index];
    if (track.name.empty()) track.name = from_python(track_name);
    if (track.device_type == 0 && device_type != 0) {
        track.device_type = device_type;
        track.device_index = device_index;
    }
}

nb::list categories(const TraceObject& self) {
    nb::list list;
    for (const std::string& category : self.trace().categories) list.append(to_python(category));
    return list;
}

void set_link(TraceObject& self, size_t row, int32_t link) {
    checked_row(self, row);
    if (link >= 0) checked_row(self, static_cast<size_t>(link));
    trace::Trace& trace = self.change_rows();
    trace.fill<int32_t>(trace.link, -1);
    trace.link[row] = link;
}

}  // namespace

nb::object wrap_trace(trace::Trace&& trace) {
    return nb::cast(new TraceObject(std::move(trace)), nb::rv_policy::take_ownership);
}

void bind_trace(nb::module_& module) {
    nb::class_<TraceObject> type(module, "Trace", "Columns of events and the tables they refer to.");
    type.def(
            "__init__",
            [](TraceObject* self, std::string directory) {
                new (self) TraceObject(trace::Trace(trace::Storage{std::move(directory)}));
            },
            "directory"_a = "")
        .def("__len__", [](const TraceObject& self) { return self.trace().size(); })
        .def_prop_ro("version", &TraceObject::version)
        .def("column", &column, "name"_a, nb::sig("def column(self, name: str) -> typing.Any"))
        .def("names", &TraceObject::names, nb::sig("def names(self) -> list[str]"))
        .def("args_of", &args_of, "row"_a, nb::sig("def args_of(self, row: int) -> str"))
        .def("set_args", &set_args, "row"_a, "args_json"_a)
        .def("set_link", &set_link, "row"_a, "link"_a)
        .def_prop_ro("categories", &categories, nb::sig("def categories(self) -> list[str]"))
        .def("processes", &processes, nb::sig("def processes(self) -> list[tuple[str, str, str, str]]"))
        .def("tracks", &tracks, nb::sig("def tracks(self) -> list[tuple[int, str, str, str, int, int, int]]"))
        .def("name_process", &name_process, "pid"_a, "name"_a, "labels"_a = "", "sort_index"_a = nb::none())
        .def("name_track", &name_track, "pid"_a, "tid"_a, "name"_a, "sort_index"_a = nb::none(),
             "device_type"_a = 0, "device_index"_a = -1)
        .def("notes", &notes, nb::sig("def notes(self) -> list[tuple[str, str]]"))
        .def(
            "add_note",
            [](TraceObject& self, nb::str kind, nb::str text) {
                self.change_texts().notes.push_back({from_python(kind), from_python(text)});
            },
            "kind"_a, "text"_a)
        .def("metadata", &metadata, nb::sig("def metadata(self) -> list[tuple[str, str]]"))
        .def("set_metadata", &set_metadata, "key"_a, "json"_a)
        .def_prop_rw(
            "device_properties",
            [](const TraceObject& self) { return to_python(self.trace().device_properties); },
            [](TraceObject& self, nb::str json) {
                self.change_texts().device_properties = format::compact_json(from_python(json));
            },
            nb::for_getter(nb::sig("def device_properties(self) -> str")))
        .def_prop_rw(
            "window",
            [](const TraceObject& self) {
                return std::pair(self.trace().window_start_ns, self.trace().window_end_ns);
            },
            [](TraceObject& self, std::pair<int64_t, int64_t> window) {
                self.change_texts().window_start_ns = window.first;
                self.change_texts().window_end_ns = window.second;
            })
        .def("append", &append, "name"_a, "category"_a, "kind"_a, "start_ns"_a, "duration_ns"_a, "pid"_a,
             "tid"_a, nb::kw_only(), "track_name"_a = "", "args_json"_a = "", "correlation"_a = 0,
             "scope"_a = nb::none(), "flags"_a = 0, "sequence"_a = -1, "device_type"_a = 0,
             "device_index"_a = -1,
             nb::sig("def append(self, name: str, category: str, kind: int, start_ns: int, duration_ns: int, "
                     "pid: int | str, tid: int | str, *, track_name: str = '', args_json: str = '', "
                     "correlation: int = 0, scope: int | None = None, flags: int = 0, sequence: int = -1, "
                     "device_type: int = 0, device_index: int = -1) -> None"))
        .def("sort", [](TraceObject& self) { trace::sort_events(self.change_rows()); })
        .def("write_chrome_json", &write_chrome_json, "target"_a, "trace_name"_a,
             nb::sig("def write_chrome_json(self, target: int | typing.Callable[[bytes], object], "
                     "trace_name: str) -> None"))
        .def("write_perfetto", &write_perfetto, "target"_a,
             nb::sig("def write_perfetto(self, target: int | typing.Callable[[bytes], object]) -> None"))
        .def_static(
            "read_chrome_json", &read_chrome_json, "read"_a, "directory"_a = "",
            nb::sig("def read_chrome_json(read: typing.Callable[[], bytes], directory: str = '') -> Trace"))
        .def_static(
            "read_perfetto", &read_perfetto, "read"_a, "directory"_a = "",
            nb::sig("def read_perfetto(read: typing.Callable[[], bytes], directory: str = '') -> Trace"));
    bind_reports(type);
    bind_parse_error(module);
}

}  // namespace kinetograph::bind
