#include "bind/merge.h"

#include <nanobind/stl/string.h>

#include "bind/gil.h"
#include "bind/text.h"
#include "bind/trace.h"
#include "bind/trace_object.h"
#include "trace/join.h"
#include "trace/merge.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

void append(trace::Merger& merger, TraceObject& source, nb::str whose, nb::str host, bool is_labelled) {
    const TraceObject::Writing reading(source);
    const trace::Merger::Origin origin{from_python(whose), from_python(host), is_labelled};
    const WithoutGil unlocked;
    merger.append(reading.trace(), origin);
}

void join(trace::Joiner& joiner, TraceObject& source) {
    const TraceObject::Writing reading(source);
    const WithoutGil unlocked;
    joiner.append(reading.trace());
}

}  // namespace

void bind_merge(nb::module_& module) {
    nb::class_<trace::Merger>(module, "TraceMerger",
                              "Makes one trace of those appended. One thread at a time.")
        .def(
            "__init__",
            [](trace::Merger* self, std::string directory) {
                new (self) trace::Merger(trace::Storage{std::move(directory)});
            },
            "directory"_a = "")
        .def("append", &append, "trace"_a, "whose"_a, "host"_a = "", "is_labelled"_a = false,
             nb::sig(
                 "def append(self, trace: Trace, whose: str, host: str = '', is_labelled: bool = False) -> "
                 "None"))
        .def(
            "finish", [](trace::Merger& self) { return wrap_trace(self.finish()); },
            nb::sig("def finish(self) -> Trace"));
    nb::class_<trace::Joiner>(module, "TraceJoiner",
                              "The same for traces of one process, recorded one after another.")
        .def(nb::init<>())
        .def("append", &join, "trace"_a, nb::sig("def append(self, trace: Trace) -> None"))
        .def(
            "finish",
            [](trace::Joiner& self) {
                trace::Trace joined = [&] {
                    const WithoutGil unlocked;
                    return self.finish();
                }();
                return wrap_trace(std::move(joined));
            },
            nb::sig("def finish(self) -> Trace"));
}

}  // namespace kinetograph::bind
