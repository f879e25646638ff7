// Records as no program should cause them, and losses that belong to no session.
#include <algorithm>
#include <cstdint>
#include <string>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

struct OddKernel {
    const char* name = "odd";
    int64_t start = 0, end = 1000;  // ticks from now
    uint32_t correlation = 0, device = 0, stream = 7, graph = 0;
};

void record_kernel(const OddKernel& odd) {
    const auto now = int64_t(base::ticks());
    cuda().call<decltype(fake_odd_kernel)>("fake_odd_kernel", odd.name, uint64_t(now + odd.start),
                                           uint64_t(now + odd.end), odd.correlation, odd.device, odd.stream,
                                           odd.graph);
}

}  // namespace

TEST(a_kernel_without_a_name_is_there) {
    CudaSession session;
    record_kernel({nullptr});
    const Trace trace = session.stop();
    CHECK(name_of(trace, rows_of(trace, Category::kernel).at(0)) == "unknown kernel");
}

TEST(a_kernel_that_ends_before_it_began_takes_no_time) {
    CudaSession session;
    record_kernel({"back", 0, -100});
    const Trace trace = session.stop();
    CHECK(trace.duration_ns[rows_of(trace, Category::kernel).at(0)] == 0);
}

TEST(numbers_as_large_as_they_can_be_stay_what_they_are) {
    CudaSession session;
    record_kernel({"far away", 0, 10, UINT32_MAX, 70'000, 70'000});
    const Trace trace = session.stop();
    const size_t row = rows_of(trace, Category::kernel).at(0);
    CHECK(trace.correlation[row] == UINT32_MAX);
    CHECK(trace.tracks[trace.track[row]].device_index == 70'000);
    CHECK(trace.tracks[trace.track[row]].name == "stream 70000 ");
}

// Such a number ties nothing together.
TEST(nodes_of_graphs_without_a_number_are_not_put_together) {
    CudaSession session;
    for (int i = 0; i < 2; ++i) record_kernel({.name = "node", .graph = 5});
    trace::BuildOptions options;
    options.wanted.whole_graphs = true;
    const Trace trace = session.stop(true, options);
    CHECK(count(trace, Category::kernel) == 2);
    CHECK(name_of(trace, rows_of(trace, Category::kernel).at(0)) == "node");
}

TEST(of_more_streams_than_fit_the_first_are_named) {
    CudaSession session;
    for (uint32_t stream = 0; stream < 2000; ++stream)
        cuda().call<decltype(fake_create_stream)>("fake_create_stream", 0U, stream, -1);
    const Trace trace = session.stop();
    CHECK(!has_note(trace, "lost their arguments"));
    const auto is_streams = [](const auto& member) { return member.first == "cuda_streams"; };
    const auto streams = std::find_if(trace.metadata.begin(), trace.metadata.end(), is_streams);
    CHECK(streams != trace.metadata.end());
    CHECK(streams->second.starts_with("[{") && streams->second.ends_with("}]"));
    CHECK(streams->second.find("\"stream\":500,") != std::string::npos);
}

TEST(more_losses_than_a_note_can_count_are_as_many_as_it_can) {
    CudaSession session;
    cuda().launch("k");
    cuda().call<decltype(fake_drop_records)>("fake_drop_records", uint64_t(UINT32_MAX) + 6);
    CHECK(has_note(session.stop(), "4294967295 records of the GPU were dropped"));
}

TEST(what_was_lost_behind_the_end_of_a_session_is_not_told_by_the_next) {
    CudaSession first;
    first.stop_while([] {
        cuda().launch("late");
        cuda().call<decltype(fake_unfinished_kernel)>("fake_unfinished_kernel");
        cuda().call<decltype(fake_drop_records)>("fake_drop_records", uint64_t(3));
    });
    cuda().launch("lets go");
    CudaSession second;
    cuda().launch("k");
    const Trace trace = second.stop();
    CHECK(!has_note(trace, "dropped by CUPTI"));
    CHECK(!has_note(trace, "launched by other threads"));
}

CHECK_MAIN
