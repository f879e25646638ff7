// Memory of devices: what a program takes and gives back, and what its trace says of it.
#include <unistd.h>

#include <string>
#include <vector>

#include <cupti.h>

#include "check.h"
#include "cuda_session.h"
#include "trace/event_args.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

collect::CudaOptions with_memory() {
    collect::CudaOptions options;
    options.memory = true;
    return options;
}

void allocate(uint64_t address, uint64_t bytes, uint32_t device = 0, uint64_t pool = 0, uint64_t held = 0) {
    cuda().call<decltype(fake_allocate)>("fake_allocate", address, bytes, device, pool, held);
}

void release(uint64_t address, uint64_t bytes, uint32_t device = 0, uint64_t pool = 0, uint64_t held = 0) {
    cuda().call<decltype(fake_free)>("fake_free", address, bytes, device, pool, held);
}

struct Change {
    int64_t bytes, allocated, reserved, device;
    bool operator==(const Change&) const = default;
};

std::vector<size_t> memory_rows(const Trace& trace) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.kind[row] == uint8_t(trace::EventKind::memory)) rows.push_back(row);
    return rows;
}

std::vector<Change> changes(const Trace& trace) {
    std::vector<Change> found;
    for (const size_t row : memory_rows(trace)) {
        const auto number = [&](std::string_view key) {
            return trace::integer_argument(trace.args_of(row), key);
        };
        CHECK(name_of(trace, row) == "[memory]" && number("Device Type") == 1);
        found.push_back(
            {number("Bytes"), number("Total Allocated"), number("Total Reserved"), number("Device Id")});
    }
    return found;
}

}  // namespace

TEST(what_was_given_back_while_nobody_looked_is_not_counted_when_it_is_taken_again) {
    CudaSession session(with_memory());
    allocate(4096, 100);
    allocate(4096, 30);
    CHECK(changes(session.stop()) == (std::vector<Change>{{100, 100, 100, 0}, {30, 30, 30, 0}}));
}

TEST(each_allocation_and_release_is_an_event_with_the_sum_of_its_device) {
    CudaSession session(with_memory());
    allocate(0x1000, 100);
    allocate(0x2000, 50);
    release(0x1000, 100);
    allocate(0x3000, 7, 1);
    const Trace trace = session.stop();
    CHECK((changes(trace) ==
           std::vector<Change>{{100, 100, 100, 0}, {50, 150, 150, 0}, {-100, 50, 50, 0}, {7, 7, 7, 1}}));
    CHECK(trace::integer_argument(trace.args_of(memory_rows(trace)[0]), "Addr") == 0x1000);
}

TEST(it_lies_within_the_call_that_asked_for_it_and_counts_for_the_scope_around) {
    CudaSession session(with_memory());
    scope("step", [] { allocate(0x1000, 64); });
    const Trace trace = session.stop();
    const size_t row = memory_rows(trace).at(0);
    const trace::Nesting nesting = trace::nest(trace);
    const int32_t call = nesting.parent[row];
    CHECK(call >= 0 && name_of(trace, size_t(call)) == "cudaMalloc");
    CHECK(trace.tracks[trace.track[row]].tid == std::to_string(gettid()));
    CHECK(nesting.parent[call] >= 0 && name_of(trace, size_t(nesting.parent[call])) == "step");
}

TEST(of_a_pool_all_that_it_reserved_counts) {
    CudaSession session(with_memory());
    allocate(0x1000, 100, 0, 0xf00, 4096);
    allocate(0x2000, 10);
    release(0x1000, 100, 0, 0xf00, 4096);
    cuda().call<decltype(fake_trim_pool)>("fake_trim_pool", 0xf00, 1024, 0);
    release(0x2000, 10);
    CHECK((changes(session.stop()) ==
           std::vector<Change>{
               {100, 100, 4096, 0}, {10, 110, 4106, 0}, {-100, 10, 4106, 0}, {-10, 0, 1024, 0}}));
}

TEST(what_was_taken_before_the_session_makes_no_sum_negative) {
    CudaSession session(with_memory());
    release(0x9000, 30);
    allocate(0x1000, 5);
    release(0x1000, 0);  // nobody says how much it was
    CHECK((changes(session.stop()) == std::vector<Change>{{-30, 0, 0, 0}, {5, 5, 5, 0}, {-5, 0, 0, 0}}));
}

TEST(pinned_memory_of_the_host_is_left_out) {
    CudaSession session(with_memory());
    cuda().call<decltype(fake_allocate_pinned)>("fake_allocate_pinned", 0x1000, 64);
    CHECK(changes(session.stop()).empty());
}

TEST(nothing_is_asked_of_cupti_unless_somebody_wants_memory) {
    CudaSession session;
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2));
    allocate(0x1000, 64);
    CHECK(changes(session.stop()).empty());
    CudaSession other(with_memory());
    CHECK(cuda().is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2));
    other.stop();
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2));
}

TEST(a_session_beside_another_that_wants_memory_gets_none) {
    CudaSession outer(with_memory());
    CudaSession inner;
    allocate(0x1000, 64);
    trace::BuildOptions options;
    options.wanted.device_memory = false;
    CHECK(changes(inner.stop(true, options)).empty());
    CHECK(changes(outer.stop()).size() == 1);
}

CHECK_MAIN
