#include "bind/reports.h"

#include <nanobind/ndarray.h>

#include <memory>

#include "bind/gil.h"
#include "bind/sinks.h"
#include "bind/text.h"
#include "format/folded.h"
#include "format/json_text.h"
#include "format/sequence_arrows.h"
#include "trace/averages.h"
#include "trace/call_tree.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// Rows of structs that hold nothing but int64_t, as a matrix that owns them.
template <class Row>
nb::object matrix(std::vector<Row>&& rows) {
    static Row nothing{};  // NumPy wants an address even for no elements
    auto* owner = new std::vector<Row>(std::move(rows));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::vector<Row>*>(p); });
    auto* data = reinterpret_cast<int64_t*>(owner->empty() ? &nothing : owner->data());
    return nb::cast(nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>(
        data, {owner->size(), sizeof(Row) / sizeof(int64_t)}, capsule));
}

trace::CallTreeOptions tree_options(bool with_python) {
    return {with_python, &format::append_unescaped};
}

nb::tuple averages(TraceObject& self, bool by_shapes, bool by_overload, uint32_t stack_frames,
                   bool with_python) {
    const trace::AverageOptions options{by_shapes, by_overload, stack_frames, with_python};
    const TraceObject::Writing reading(self);
    const auto nesting = self.nesting();
    const auto work = self.device_work();
    trace::Averages averages = [&] {
        const WithoutGil no_gil;
        return trace::average(reading.trace(), *nesting, *work, options);
    }();
    return nb::make_tuple(
        matrix(std::move(averages.groups)),
        nb::make_tuple(averages.python_functions, averages.python_calls, averages.python_ns));
}

// Row and number of the arrow.
nb::list flow_ends(const std::vector<format::FlowEnd>& ends) {
    nb::list rows;
    for (const format::FlowEnd& end : ends) rows.append(nb::make_tuple(end.row, end.id));
    return rows;
}

nb::tuple sequence_arrows(TraceObject& self) {
    const TraceObject::Writing reading(self);
    const format::SequenceArrows arrows = [&] {
        const WithoutGil no_gil;
        return format::sequence_arrows(reading.trace());
    }();
    return nb::make_tuple(flow_ends(arrows.forward), flow_ends(arrows.backward));
}

nb::tuple call_tree(TraceObject& self, bool with_python) {
    const TraceObject::Writing reading(self);
    const auto nesting = self.nesting();
    const auto work = self.device_work();
    trace::CallTree tree = [&] {
        const WithoutGil no_gil;
        return trace::merge_calls(reading.trace(), *nesting, *work, tree_options(with_python));
    }();
    nb::list names;
    for (const std::string& name : tree.extra_names) names.append(to_python(name));
    return nb::make_tuple(matrix(std::move(tree.nodes)), names);
}

void write_folded(TraceObject& self, nb::object target, uint8_t metric, bool with_python) {
    const auto nesting = self.nesting();
    const auto work = self.device_work();
    write_blocks(self, target, [&](const trace::Trace& trace, format::Sink& sink) {
        const trace::CallTree tree = trace::merge_calls(trace, *nesting, *work, tree_options(with_python));
        format::write_folded(trace, tree, static_cast<format::FoldedMetric>(metric), sink);
    });
}

}  // namespace

void bind_reports(nb::class_<TraceObject>& type) {
    type.def("averages", &averages, nb::kw_only(), "by_shapes"_a = false, "by_overload"_a = false,
             "stack_frames"_a = 0, "with_python"_a = false,
             nb::sig("def averages(self, *, by_shapes: bool = False, by_overload: bool = False, "
                     "stack_frames: int = 0, with_python: bool = False) "
                     "-> tuple[typing.Any, tuple[int, int, int]]"))
        .def("call_tree", &call_tree, nb::kw_only(), "with_python"_a = true,
             nb::sig("def call_tree(self, *, with_python: bool = True) -> tuple[typing.Any, list[str]]"))
        .def("sequence_arrows", &sequence_arrows,
             nb::sig("def sequence_arrows(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]"))
        .def("write_folded", &write_folded, "target"_a, nb::kw_only(), "metric"_a = 0, "with_python"_a = true,
             nb::sig("def write_folded(self, target: int | typing.Callable[[bytes], object], *, "
                     "metric: int = 0, with_python: bool = True) -> None"));
}

}  // namespace kinetograph::bind
