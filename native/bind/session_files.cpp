#include "bind/session_files.h"

#include <nanobind/stl/string.h>

#include "bind/gil.h"
#include "bind/os_errors.h"
#include "bind/text.h"
#include "bind/trace.h"
#include "format/json_check.h"
#include "record/recorder.h"
#include "record/session_file.h"
#include "trace/builder.h"
#include "trace/call_depth.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

nb::object recover(const std::string& path, const record::RecoverOptions& options, uint32_t max_depth) {
    return with_os_errors(path, [&] {
        trace::Trace trace = [&] {
            const WithoutGil unlocked;
            trace::BuildOptions build;
            build.clean_members = format::clean_members;
            record::Recording recording = record::recover_session_file(path, options);
            const trace::DepthLimit limit = trace::depth_limit(max_depth, recording);
            trace::Trace built = trace::build_trace(std::move(recording), build);
            trace::limit_call_depth(built, limit);
            return built;
        }();
        return wrap_trace(std::move(trace));
    });
}

void bind_recover(nb::module_& module) {
    module.def(
        "recover",
        [](const std::string& path, bool is_never_stopped, std::string boot_id, int64_t wall_offset_ns,
           int64_t ended_raw_ns, int64_t keep_ns, uint64_t memory_limit_bytes, std::string spill_directory,
           uint32_t max_depth) {
            return recover(path,
                           {is_never_stopped, std::move(boot_id), wall_offset_ns, ended_raw_ns, keep_ns,
                            memory_limit_bytes, std::move(spill_directory)},
                           max_depth);
        },
        "path"_a, nb::kw_only(), "is_never_stopped"_a = false, "boot_id"_a = "", "wall_offset_ns"_a = 0,
        "ended_raw_ns"_a = 0, "keep_ns"_a = 0, "memory_limit_bytes"_a = uint64_t(1) << 30,
        "spill_directory"_a = "", "max_depth"_a = UINT32_MAX,
        nb::sig("def recover(path: str, *, is_never_stopped: bool = False, boot_id: str = '', "
                "wall_offset_ns: int = 0, ended_raw_ns: int = 0, keep_ns: int = 0, "
                "memory_limit_bytes: int = 1073741824, spill_directory: str = '', max_depth: int = ...) -> "
                "Trace"));
}

nb::dict session_file_info(const std::string& path) {
    const record::SessionFileInfo info =
        with_os_errors(path, [&] { return record::read_session_file_info(path); });
    nb::dict members;
    members["pid"] = info.pid;
    members["parent_pid"] = info.parent_pid;
    members["process_name"] = to_python(info.process_name);
    members["command"] = to_python(info.command);
    members["boot_id"] = to_python(info.boot_id);
    members["start_ns"] = info.start_ns;
    members["wall_offset_ns"] = info.wall_offset_ns;
    members["bytes"] = info.bytes;
    members["has_ended"] = info.has_ended;
    members["is_in_use"] = info.is_in_use;
    return members;
}

uint64_t trim_session_file(const std::string& path) {
    return with_os_errors(path, [&] { return record::trim_session_file(path); });
}

}  // namespace

void bind_session_files(nb::module_& module) {
    bind_recover(module);
    module.def("session_file_info", &session_file_info, "path"_a,
               nb::sig("def session_file_info(path: str) -> dict[str, typing.Any]"));
    module.def("trim_session_file", &trim_session_file, "path"_a);
    module.def(
        "set_process_name",
        [](nb::str name) { record::Recorder::instance().set_process_name(from_python(name)); }, "name"_a);
    module.def(
        "tell_note",
        [](nb::str kind, nb::str text) {
            record::ThreadBuffer* thread = record::recording_thread();
            if (thread) record::tell_note(*thread, from_python(kind), from_python(text));
        },
        "kind"_a, "text"_a);
    module.def("mark_end", [] { record::Recorder::instance().mark_end(); });
}

}  // namespace kinetograph::bind
