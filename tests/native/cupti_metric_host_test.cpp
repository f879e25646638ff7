// Metrics and passes, as a real libcupti knows them without a device. KINETOGRAPH_LIBCUPTI names some,
// separated by colons; without any there is nothing to test.
#include "collect/cupti/metric_host.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"

using namespace kinetograph::collect::cupti;

namespace {

const Chip ranges{"GH100"};
const Chip samples{"GH100", CUPTI_PROFILER_TYPE_PM_SAMPLING};
const std::string bytes_read = "dram__bytes_read.sum";
const std::string busy = "sm__throughput.avg.pct_of_peak_sustained_elapsed";

// Those that the guide names.
const std::vector<std::string> sampled = {
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed",
    "dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
    "pcie__read_bytes.avg.pct_of_peak_sustained_elapsed",
    "nvlrx__bytes.sum.per_second",
};

bool holds(const std::vector<std::string>& names, const std::string& wanted) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
}

void check_names(const MetricHost& host) {
    const std::vector<std::string> names = host.base_names();
    CHECK(names.size() > 1000);
    CHECK(holds(names, "dram__bytes_read") && holds(names, "sm__throughput"));
    CHECK(holds(host.named_like("dram__bytes_read.total"), bytes_read));
    CHECK(holds(host.named_like("dram__bytes_read"), bytes_read));
    CHECK(holds(host.named_like("sm__throughput"), busy));
    CHECK(!holds(host.named_like("sm__throughput"), "sm__throughput.sum"));
    CHECK(host.named_like("dram__bites_read.sum").empty());
    for (const char* known :
         {"dram__bytes_read.sum", "dram__bytes_read.sum.per_second", "gpu__time_duration.sum",
          "smsp__inst_executed.sum", "sm__cycles_active.avg", "l1tex__t_sector_hit_rate.pct",
          "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"})
        CHECK(host.knows(known) || (std::fprintf(stderr, "%s\n", known), false));
    CHECK(host.knows(busy));
    for (const char* unknown :
         {"dram__bytes_read", "dram__bytes_read.total", "dram__bites_read.sum", "", "."})
        CHECK(!host.knows(unknown));
}

void check_passes(const MetricFunctions& functions) {
    MetricHost one(functions, ranges), more(functions, ranges);
    one.choose({bytes_read});
    CHECK(one.passes() == 1 && !one.config().empty());
    more.choose({bytes_read, busy});
    CHECK(more.passes() > 1);
    const std::vector<size_t> each = passes_of_each(functions, ranges, {bytes_read, busy});
    CHECK(each.size() == 2 && each[0] == 1 && each[1] > 1);
}

// They take one pass together, which others do not even alone.
void check_samples(const MetricFunctions& functions) {
    MetricHost host(functions, samples), more(functions, samples);
    for (const std::string& metric : sampled)
        CHECK(host.knows(metric) || (std::fprintf(stderr, "%s\n", metric.c_str()), false));
    CHECK(!host.knows("dram__bytes_read.total"));
    host.choose(sampled);
    CHECK(host.passes() == 1 && !host.config().empty());
    more.choose({busy});
    CHECK(more.passes() > 1);
}

void check_refusals(const MetricFunctions& functions) {
    try {
        const MetricHost host(functions, {"XX100"});
        CHECK(!"a chip that nobody knows");
    } catch (const MetricError& error) {
        CHECK(std::string(error.what()).find("cuptiProfilerHostInitialize gave error") == 0);
    }
}

void check_library(const std::string& path) {
    std::printf("  %s\n", path.c_str());
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    CHECK(library);
    if (!dlsym(library, "cuptiRangeProfilerEnable")) return;  // before 12.6
    const MetricFunctions functions = find_metric_functions(library);
    const MetricHost host(functions, ranges);
    check_names(host);
    check_passes(functions);
    check_samples(functions);
    check_refusals(functions);
}

}  // namespace

TEST(real_libraries_know_their_metrics_and_passes) {
    const char* paths = std::getenv("KINETOGRAPH_LIBCUPTI");
    std::istringstream list(paths ? paths : "");
    for (std::string path; std::getline(list, path, ':');) check_library(path);
}

TEST(a_library_without_counters_is_told_from_one_with_them) {
    void* library = dlopen(FAKE_CUDA, RTLD_NOW);
    CHECK(library);
    try {
        find_metric_functions(library);
        CHECK(!"libcuda has no counters");
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()).find("this libcupti has no ") == 0);
    }
}

CHECK_MAIN
