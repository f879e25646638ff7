// Captures of CUDA graphs: sessions neither wait for a device nor let go of CUPTI while one is under way.
#include "collect/cupti/collector.h"

#include <cstdint>
#include <thread>

#include <cupti.h>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;
using record::Category;
using trace::Trace;

namespace {

constexpr uintptr_t one_stream = 0x51, another_stream = 0x52;

void begin_capture(uintptr_t stream = one_stream) {
    cuda().call<decltype(fake_begin_capture)>("fake_begin_capture", stream);
}
void end_capture(uintptr_t stream = one_stream) {
    cuda().call<decltype(fake_end_capture)>("fake_end_capture", stream);
}

}  // namespace

TEST(a_capture_is_not_broken_by_the_end_of_a_session) {
    CudaSession session;
    cuda().launch("before");
    begin_capture();
    const Trace trace = session.stop();
    CHECK(cuda().number("fake_capture_is_broken") == 0);
    CHECK(count(trace, Category::kernel) == 1);
    CHECK(has_note(trace, "being captured"));
    end_capture();
}

TEST(a_capture_that_outlives_a_session_is_not_broken_by_the_end_of_the_next) {
    CudaSession first;
    begin_capture();
    first.stop();
    CHECK(has_note(CudaSession().stop(), "being captured"));
    CHECK(cuda().number("fake_capture_is_broken") == 0);
    end_capture();
    CHECK(!has_note(CudaSession().stop(), "being captured"));
}

TEST(the_end_of_a_capture_that_began_earlier_is_not_that_of_another) {
    begin_capture(one_stream);
    CudaSession session;
    begin_capture(another_stream);
    end_capture(one_stream);
    cuda().call<decltype(fake_set_capturing)>("fake_set_capturing", 1);
    CHECK(has_note(session.stop(), "being captured"));
    CHECK(cuda().number("fake_capture_is_broken") == 0);
    end_capture(another_stream);
    CHECK(cuda().number("fake_is_subscribed") == 0);
}

TEST(streams_of_threads_are_captured_one_by_one) {
    CudaSession session;
    begin_capture(uintptr_t(CU_STREAM_PER_THREAD));
    std::thread([] {
        begin_capture(0);
        end_capture(uintptr_t(CU_STREAM_PER_THREAD));
    }).join();
    cuda().call<decltype(fake_set_capturing)>("fake_set_capturing", 1);
    CHECK(has_note(session.stop(), "being captured"));
    CHECK(cuda().number("fake_capture_is_broken") == 0);
    end_capture(0);
    CHECK(cuda().number("fake_is_subscribed") == 0);
}

TEST(a_stream_that_is_destroyed_is_no_longer_captured) {
    CudaSession session;
    begin_capture();
    cuda().call<decltype(fake_destroy_stream)>("fake_destroy_stream", one_stream);
    CHECK(!has_note(session.stop(), "being captured"));
    CHECK(cuda().number("fake_is_subscribed") == 0);
}

TEST(while_a_graph_is_captured_cupti_is_not_let_go_of) {
    CudaSession session;
    begin_capture();
    session.stop();
    CHECK(cuda().number("fake_is_subscribed") == 1);
    end_capture();
    CHECK(cuda().number("fake_is_subscribed") == 0);
}

CHECK_MAIN
