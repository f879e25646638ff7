#include "bind/intra_kernel.h"

#include <list>
#include <map>
#include <span>
#include <vector>

#include "bind/gil.h"
#include "bind/text.h"
#include "bind/trace.h"
#include "bind/trace_object.h"
#include "intra_kernel/decode.h"
#include "intra_kernel/join.h"
#include "intra_kernel/task_times.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// The bytes of any object that has the buffer protocol, held while they are read.
class HeldBytes {
public:
    explicit HeldBytes(nb::handle owner) {
        if (PyObject_GetBuffer(owner.ptr(), &view_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
    }
    ~HeldBytes() { PyBuffer_Release(&view_); }
    HeldBytes(const HeldBytes&) = delete;
    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(view_.buf), size_t(view_.len)};
    }

private:
    Py_buffer view_{};
};

std::vector<std::string> texts(nb::handle list) {
    std::vector<std::string> found;
    for (const nb::handle text : list) found.push_back(from_python(text));
    return found;
}

nb::object decode(nb::object buffer, nb::list task_names, int64_t offset_ns, uint8_t device_type,
                  int32_t device_index) {
    const intra_kernel::DecodeOptions options{texts(task_names), offset_ns, device_type, device_index};
    const HeldBytes held(buffer);
    trace::Trace trace = [&] {
        const WithoutGil unlocked;
        return intra_kernel::decode(held.bytes(), options);
    }();
    return wrap_trace(std::move(trace));
}

void join(TraceObject& self, nb::list buffers, nb::list measured, size_t most_own_groups) {
    std::list<HeldBytes> held;
    std::vector<intra_kernel::BufferContents> contents;
    for (const nb::handle buffer : buffers) {
        held.emplace_back(buffer[0]);
        contents.push_back({held.back().bytes(), texts(buffer[1]), nb::cast<int32_t>(buffer[2])});
    }
    std::map<int32_t, std::vector<intra_kernel::MeasuredOffset>> offsets;
    for (const nb::handle each : measured)
        offsets[nb::cast<int32_t>(each[0])].push_back(
            {nb::cast<int64_t>(each[1]), nb::cast<int64_t>(each[2]), nb::cast<int64_t>(each[3])});
    trace::Trace& trace = self.change_rows();
    self.forget_tracks();
    const WithoutGil unlocked;
    intra_kernel::join(trace, contents, offsets, most_own_groups);
}

nb::list task_times(TraceObject& self) {
    const TraceObject::Writing reading(self);
    const std::vector<intra_kernel::TaskTimes> tasks = [&] {
        const WithoutGil unlocked;
        return intra_kernel::task_times(reading.trace());
    }();
    nb::list rows;
    for (const intra_kernel::TaskTimes& task : tasks)
        rows.append(nb::make_tuple(to_python(task.kernel), to_python(task.task), task.count, task.total_ns,
                                   task.p50_ns, task.p99_ns, task.share, task.imbalance, task.tail_ns,
                                   task.recording));
    return rows;
}

}  // namespace

void bind_intra_kernel(nb::module_& module) {
    module.def("decode_intra_kernel", &decode, "buffer"_a, "task_names"_a, "offset_ns"_a = 0,
               "device_type"_a = 0, "device_index"_a = -1,
               nb::sig("def decode_intra_kernel(buffer: object, task_names: list[str], offset_ns: int = 0, "
                       "device_type: int = 0, device_index: int = -1) -> Trace"));
    // Buffers are (bytes, names of tasks, device); what was measured is (device, globaltimer, offset, error).
    module.def("join_intra_kernel", &join, "trace"_a, "buffers"_a, "measured"_a, "most_own_groups"_a = 64,
               nb::sig("def join_intra_kernel(trace: Trace, buffers: list[tuple[object, list[str], int]], "
                       "measured: list[tuple[int, int, int, int]], most_own_groups: int = 64) -> None"));
    module.def("intra_kernel_task_times", &task_times, "trace"_a,
               nb::sig("def intra_kernel_task_times(trace: Trace) -> list[tuple[str, str, int, int, int, "
                       "int, float, float, int, float]]"));
}

}  // namespace kinetograph::bind
