#include "bind/cuda.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/mapped_library.h"
#include "bind/gil.h"
#include "bind/text.h"
#include "collect/cupti/collector.h"
#include "collect/cupti/metrics.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// As the file system spells them, which need not be UTF-8.
std::vector<std::string> as_paths(const std::vector<nb::str>& texts) {
    std::vector<std::string> paths;
    for (const nb::str& text : texts) {
        PyObject* encoded = PyUnicode_EncodeFSDefault(text.ptr());
        if (!encoded) nb::raise_python_error();
        const nb::bytes path = nb::steal<nb::bytes>(encoded);
        paths.emplace_back(path.c_str(), path.size());
    }
    return paths;
}

uint64_t start_cuda(bool synchronization, bool memory, bool crash_safe, size_t memory_limit_bytes,
                    const std::vector<nb::str>& libraries) {
    std::vector<std::string> paths = as_paths(libraries);
    const WithoutGil unlocked;
    return collect::start_cuda({synchronization, memory, crash_safe, memory_limit_bytes, std::move(paths)});
}

// May wait for the GPU, and CUPTI's callbacks for nobody.
void flush_cuda(uint64_t use, bool may_wait) {
    const WithoutGil unlocked;
    collect::flush_cuda(use, may_wait);
}

void stop_cuda(uint64_t use) {
    const WithoutGil unlocked;
    collect::stop_cuda(use);
}

void push_external_id(int whose, uint64_t id) {
    const WithoutGil unlocked;
    collect::push_external_id(collect::ExternalId(whose), id);
}

void pop_external_id(int whose) {
    const WithoutGil unlocked;
    collect::pop_external_id(collect::ExternalId(whose));
}

// Attaching to CUPTI may be under way, which waits for the driver, and that perhaps for the program.
nb::tuple cuda_status() {
    collect::CudaStatus status;
    {
        const WithoutGil unlocked;
        status = collect::cuda_status();
    }
    return nb::make_tuple(int(status.state), to_python(status.reason), to_python(status.library),
                          status.version, status.records);
}

bool cuda_graph_is_captured() {
    const WithoutGil unlocked;
    return collect::cuda_graph_is_captured();
}

nb::tuple as_tuple(const collect::MetricAnswer& answer) {
    return nb::make_tuple(int(answer.problem), to_python(answer.text), answer.metrics, answer.candidates,
                          answer.passes);
}

nb::tuple open_metrics(std::vector<std::string> metrics, bool per_kernel,
                       const std::vector<nb::str>& libraries) {
    collect::MetricAnswer answer;
    {
        std::vector<std::string> paths = as_paths(libraries);
        const WithoutGil unlocked;
        answer = collect::open_metrics({std::move(metrics), per_kernel, std::move(paths)});
    }
    return as_tuple(answer);
}

nb::tuple open_sampling(std::vector<std::string> metrics, uint64_t interval_ns) {
    collect::MetricAnswer answer;
    {
        const WithoutGil unlocked;
        answer = collect::open_sampling({std::move(metrics), interval_ns});
    }
    return as_tuple(answer);
}

void pause_metrics(bool may_wait) {
    const WithoutGil unlocked;
    collect::pause_metrics(may_wait);
}

void begin_metric_range(const std::string& name) {
    const WithoutGil unlocked;
    collect::begin_metric_range(name);
}

// In the main thread, between two instructions of the program, which must not notice it.
int fall_back(void*) {
    PyObject* module = PyImport_ImportModule("kinetograph.session.cuda");
    PyObject* done = module ? PyObject_CallMethod(module, "fall_back", nullptr) : nullptr;
    // A Ctrl-C that comes meanwhile is the program's.
    const bool is_the_programs = !done && !PyErr_ExceptionMatches(PyExc_Exception);
    if (!done && !is_the_programs) PyErr_WriteUnraisable(module);
    Py_XDECREF(done);
    Py_XDECREF(module);
    return is_the_programs ? -1 : 0;
}

// All of these may wait for the GPU.
template <void function()>
void without_gil() {
    const WithoutGil unlocked;
    function();
}

}  // namespace

void bind_cuda(nb::module_& module) {
    // Now, and not in the first session: that may be one of a forked child, begun in a handler of the fork.
    collect::prepare_cuda();
    collect::prepare_metrics();
    collect::on_late_refusal([] { Py_AddPendingCall(fall_back, nullptr); });
    module.def("start_cuda", &start_cuda, "synchronization"_a, "memory"_a, "crash_safe"_a,
               "memory_limit_bytes"_a, "libraries"_a);
    module.def("flush_cuda", &flush_cuda, "use"_a, "may_wait"_a);
    module.def("stop_cuda", &stop_cuda, "use"_a);
    module.def("push_external_id", &push_external_id, "whose"_a, "id"_a);
    module.def("pop_external_id", &pop_external_id, "whose"_a);
    module.def("cuda_graph_is_captured", &cuda_graph_is_captured);
    module.def("cuda_status", &cuda_status, nb::sig("def cuda_status() -> tuple[int, str, str, int, int]"));
    module.def("cuda_is_taken_over", &collect::cuda_is_taken_over);
    module.def("cuda_is_mapped", &collect::cuda_is_mapped);
    module.def(
        "mapped_library", [](const std::string& name) { return base::mapped_library(name.c_str()); },
        "name"_a);
    module.def(
        "open_metrics", &open_metrics, "metrics"_a, "per_kernel"_a, "libraries"_a,
        nb::sig("def open_metrics(metrics: Sequence[str], per_kernel: bool, libraries: Sequence[str]) -> "
                "tuple[int, str, list[str], list[list[str]], list[int]]"));
    module.def("resume_metrics", &without_gil<collect::resume_metrics>);
    module.def("pause_metrics", &pause_metrics, "may_wait"_a);
    module.def("close_metrics", &without_gil<collect::close_metrics>);
    module.def("begin_metric_range", &begin_metric_range, "name"_a);
    module.def("end_metric_range", &without_gil<collect::end_metric_range>);
    module.def("open_sampling", &open_sampling, "metrics"_a, "interval_ns"_a,
               nb::sig("def open_sampling(metrics: Sequence[str], interval_ns: int) -> "
                       "tuple[int, str, list[str], list[list[str]], list[int]]"));
    module.def("resume_sampling", &without_gil<collect::resume_sampling>);
    module.def("pause_sampling", &without_gil<collect::pause_sampling>);
    module.def("close_sampling", &without_gil<collect::close_sampling>);
}

}  // namespace kinetograph::bind
