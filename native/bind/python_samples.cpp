#include "bind/python_samples.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/gil.h"
#include "collect/python_samples/sampler.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

void start_samples(std::vector<std::string> include, std::vector<std::string> exclude, uint32_t max_depth,
                   uint32_t hz) {
    if (!collect::start_sampling({{std::move(include), std::move(exclude)}, max_depth, hz}))
        throw nb::python_error();
}

void stop_samples() {
    const WithoutGil unlocked;
    collect::stop_sampling();
}

nb::tuple sample_counts() {
    const collect::SampleCounts counts = collect::sample_counts();
    return nb::make_tuple(counts.rounds, counts.stacks, counts.torn, counts.too_deep, counts.missed,
                          counts.cpu_ns);
}

}  // namespace

void bind_python_samples(nb::module_& module) {
    module.def("start_samples", &start_samples, nb::kw_only(), "include"_a, "exclude"_a, "max_depth"_a,
               "hz"_a, "Take stacks of all threads from now on, or by other rules than before.");
    module.def("stop_samples", &stop_samples);
    module.def("sample_counts", &sample_counts,
               nb::sig("def sample_counts() -> tuple[int, int, int, int, int, int]"),
               "Rounds, stacks, torn, too deep, missed and nanoseconds of CPU since the process began.");
}

}  // namespace kinetograph::bind
