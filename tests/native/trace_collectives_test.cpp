// What the operator around a launch tells of a collective, and its kernel then says, too.
#include "trace/collectives.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "trace/device_links.h"
#include "trace/event_args.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;
using trace::Category;
using trace::Trace;

namespace {

constexpr std::string_view told =
    R"("Input Dims":[[8]],"Group size":2,"dtype":"Int","Collective name":"allreduce",)"
    R"("In msg nelems":8,"Seq":3,"Process Group Ranks":"[0, 1]","Out msg nelems":8)";
constexpr std::string_view named = R"("device":0,"Collective name":"reduce","dtype":"Float","stream":7)";

// On the host what stands around the launch, outermost first, then the launch itself; on the device its
// kernel.
Trace launched_in(std::initializer_list<Row> around) {
    Trace trace = trace_of(around);
    const size_t launch = trace.size();
    add(trace, {"cudaLaunchKernel", 40, 50, 0, Category::cuda_runtime});
    add(trace, {"ncclDevKernel_Reduce_Sum_f32_RING_LL", 60, 90, 1, Category::kernel});
    trace.tracks[1].device_type = 1;
    trace.fill(trace.correlation, int64_t(0));
    trace.correlation[launch] = trace.correlation[launch + 1] = 11;
    set_args(trace, launch + 1, named);
    return trace;
}

std::string_view of_kernel(const Trace& trace) {
    return trace.args_of(trace.size() - 1);
}

constexpr std::string_view collective_keys[] = {"Collective name",
                                                "In msg nelems",
                                                "Out msg nelems",
                                                "Group size",
                                                "dtype",
                                                "In split size",
                                                "Out split size",
                                                "Process Group Name",
                                                "Process Group Description",
                                                "Process Group Ranks"};

std::string without_collective(std::string_view members) {
    std::string left;
    for (trace::Arguments each(members); each.next();) {
        if (std::count(std::begin(collective_keys), std::end(collective_keys), each.key())) continue;
        (left += left.empty() ? "" : ",") += each.member();
    }
    return left;
}

Trace read_packed(const std::string& path) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("gzip -cd '" + path + "'").c_str(), "r"), pclose);
    CHECK(pipe);
    std::vector<char> block(1 << 20);
    return format::read_chrome_json(
        [&] { return std::string_view(block.data(), fread(block.data(), 1, block.size(), pipe.get())); });
}

}  // namespace

TEST(a_kernel_says_what_the_operator_says_and_no_longer_what_its_name_does) {
    Trace trace = launched_in({{"record_param_comms", 10, 55, 0, Category::cpu_op},
                               {"nccl:all_reduce", 20, 54, 0, Category::user_annotation}});
    set_args(trace, 0, told);
    trace::describe_collectives(trace);
    CHECK(of_kernel(trace) ==
          R"("device":0,"stream":7,"Collective name":"allreduce","In msg nelems":8,"Out msg nelems":8,)"
          R"("Group size":2,"dtype":"Int","Process Group Ranks":"[0, 1]")");
    CHECK(trace.args_of(0) == told);
}

TEST(a_kernel_of_an_operator_within_is_none_of_the_collective) {
    Trace trace = launched_in(
        {{"record_param_comms", 10, 55, 0, Category::cpu_op}, {"aten::copy_", 20, 54, 0, Category::cpu_op}});
    set_args(trace, 0, told);
    trace::describe_collectives(trace);
    CHECK(of_kernel(trace) == named);
}

TEST(a_kernel_keeps_what_it_says_where_the_operator_tells_nothing) {
    Trace trace = launched_in({{"record_param_comms", 10, 55, 0, Category::cpu_op}});
    trace::describe_collectives(trace);
    CHECK(of_kernel(trace) == named);
    set_args(trace, 0, R"("Input Dims":[[8]])");
    trace::describe_collectives(trace);
    CHECK(of_kernel(trace) == named);
}

TEST(kernels_of_equal_operators_share_one_text) {
    Trace trace = launched_in({{"record_param_comms", 10, 55, 0, Category::cpu_op}});
    set_args(trace, 0, told);
    add(trace, {"ncclDevKernel_Reduce_Sum_f32_RING_LL", 91, 99, 1, Category::kernel});
    trace.correlation.push_back(11);
    trace.args.push_back(trace.args[2]);
    trace::describe_collectives(trace);
    CHECK(trace.args[2].offset == trace.args[3].offset && trace.args[2].length == trace.args[3].length);
    CHECK(trace::argument(of_kernel(trace), "Group size") == "2");
}

// A trace of two A100 that PyTorch wrote, from the folder that KINETOGRAPH_TRACES names.
TEST(kernels_in_a_file_of_kinetos_get_back_what_was_taken_from_them) {
    const char* folder = std::getenv("KINETOGRAPH_TRACES");
    if (!folder) return;
    Trace trace = read_packed(std::string(folder) + "/a100x2_nccl_data.json.gz");
    std::vector<std::string> written;
    std::vector<size_t> kernels;
    for (size_t row = 0; row < trace.size(); ++row) {
        if (trace.category[row] != uint8_t(Category::kernel)) continue;
        if (trace::argument(trace.args_of(row), "Collective name").empty()) continue;
        kernels.push_back(row);
        written.emplace_back(trace.args_of(row));
        set_args(trace, row, without_collective(written.back()));
    }
    CHECK(kernels.size() == 21);
    trace::describe_collectives(trace);
    for (size_t i = 0; i < kernels.size(); ++i) CHECK(trace.args_of(kernels[i]) == written[i]);
}

CHECK_MAIN
