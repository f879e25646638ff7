// Scopes timed by (fake) CUDA events: begun and ended by a program, and in the trace on the stream they ran
// on.
#include "collect/cuda_events/collector.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "fake_cuda/play.h"
#include "record/recorder.h"
#include "trace/builder.h"
#include "trace/device_work.h"

using namespace kinetograph;
using record::Category;
using record::Recorder;
using test::FakeCuda;
using trace::Trace;

namespace {

constexpr collect::StreamPlace stream_7{0, 7}, stream_9{0, 9};
constexpr uint64_t millisecond = 1'000'000;
// The rate of the clock is not known well in the first moments of a process.
constexpr int64_t nearly(uint64_t ns) {
    return int64_t(ns) * 9 / 10;
}

const FakeCuda& cuda() {
    static const FakeCuda* const fake = [] {
        auto* made = new FakeCuda;
        made->initialise();
        return made;
    }();
    return *fake;
}

void work(uint64_t ns) {
    cuda().call<decltype(fake_work)>("fake_work", ns);
}

void set_context(int number) {
    cuda().call<decltype(fake_set_context)>("fake_set_context", number);
}

void capture(uintptr_t stream) {
    cuda().call<decltype(fake_capture_stream)>("fake_capture_stream", stream);
}

// In the order in which Python does it.
class TimedSession {
public:
    TimedSession() {
        cuda();
        before_ = collect::scope_times();
        collect::start_scope_timer();
        record::SessionOptions session;
        session.all_threads = true;
        id_ = Recorder::instance().start(session);
    }
    Trace stop() {
        collect::flush_timed_scopes();
        record::Recording recording = Recorder::instance().stop(id_);
        collect::stop_scope_timer();
        return trace::build_trace(std::move(recording), options);
    }
    uint64_t count(uint64_t collect::ScopeTimes::* of) const {
        return collect::scope_times().*of - before_.*of;
    }

    trace::BuildOptions options;

private:
    collect::ScopeTimes before_;
    record::SessionId id_;
};

// A scope that is timed; it may end on another stream.
void scope(const char* name, const std::function<void()>& body, collect::StreamPlace begin = stream_7,
           collect::StreamPlace end = stream_7) {
    record::ThreadBuffer* thread = record::recording_thread();
    CHECK(thread);
    const uint32_t id = Recorder::instance().intern(name);
    const uint64_t number = collect::begin_timed_scope(id, thread->tid, begin);
    record::Lane& lane = record::lane_of(*thread, 0);
    record::begin_scope(*thread, lane, id, uint32_t(Category::user_annotation) | 7U << 8);
    body();
    record::end_scope(*thread, lane, id, base::ticks());
    collect::end_timed_scope(number, end);
}

std::vector<size_t> rows_of(const Trace& trace, Category category) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.category[row] == uint8_t(category)) rows.push_back(row);
    return rows;
}

std::vector<size_t> timed(const Trace& trace) {
    return rows_of(trace, Category::gpu_user_annotation);
}

size_t row_named(const Trace& trace, Category category, const std::string& name) {
    for (const size_t row : rows_of(trace, category))
        if (trace.strings[trace.name[row]] == name) return row;
    CHECK(!"no such row");
    return 0;
}

}  // namespace

TEST(nothing_is_timed_before_the_program_has_initialised_cuda) {
    static const FakeCuda fake;  // loaded, but not initialised
    collect::start_scope_timer();
    CHECK(!collect::scope_timer_is_ready());
    CHECK(collect::begin_timed_scope(1, gettid(), stream_7) == 0);
    fake.initialise();
    while (!collect::scope_timer_is_ready()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(fake.number("fake_event_calls") == 0);
    collect::stop_scope_timer();
}

TEST(a_scope_is_on_its_stream_as_long_as_the_device_worked) {
    TimedSession session;
    scope("step", [] { work(5 * millisecond); });
    const Trace trace = session.stop();
    const size_t step = row_named(trace, Category::user_annotation, "step");
    CHECK(timed(trace).size() == 1);
    const size_t row = timed(trace)[0];
    CHECK(trace.strings[trace.name[row]] == "step");
    CHECK(trace.tracks[trace.track[row]].tid == "7");
    CHECK(trace.on_device(row));
    CHECK(trace.link[row] == int32_t(step));
    CHECK(trace.correlation[row] == 0);
    CHECK(trace.duration_ns[row] >= nearly(5 * millisecond));
    // Never before the host was there, and not later than the clocks may be off.
    const int64_t error_ns = collect::scope_times().error_ns;
    CHECK(error_ns > 0);
    CHECK(trace.start_ns[row] <= trace.end_ns(step) + error_ns);
    CHECK(trace.start_ns[row] >= trace.start_ns[step] - int64_t(millisecond));
}

TEST(device_time_counts_for_the_scope_less_the_scopes_in_it) {
    TimedSession session;
    scope("outer", [] {
        work(2 * millisecond);
        scope("inner", [] { work(3 * millisecond); });
        scope("inner", [] { work(4 * millisecond); });
    });
    const Trace trace = session.stop();
    const trace::Nesting nesting = trace::nest(trace);
    const trace::DeviceWork counted = trace::attribute_device_work(trace, nesting);
    const size_t outer = row_named(trace, Category::user_annotation, "outer");
    int64_t inner_ns = 0;
    for (const size_t row : timed(trace)) {
        CHECK(counted.total_ns[trace.link[row]] == trace.duration_ns[row]);
        if (trace.link[row] != int32_t(outer)) inner_ns += trace.duration_ns[row];
    }
    CHECK(inner_ns >= nearly(7 * millisecond));
    CHECK(counted.self_ns[outer] == counted.total_ns[outer] - inner_ns);
    CHECK(counted.self_ns[outer] >= nearly(2 * millisecond));
}

TEST(each_of_many_scopes_of_one_name_has_its_own_time) {
    TimedSession session;
    for (uint64_t i = 1; i <= 100; ++i) scope("step", [&] { scope("step", [&] { work(i * 1000); }); });
    const Trace trace = session.stop();
    std::vector<int> linked(trace.size());
    for (const size_t row : timed(trace)) ++linked[size_t(trace.link[row])];
    CHECK(timed(trace).size() == 200);
    for (const size_t row : rows_of(trace, Category::user_annotation)) CHECK(linked[row] == 1);
}

TEST(scopes_of_threads_are_tied_to_those_of_the_same_thread) {
    TimedSession session;
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 4; ++i)
        threads.emplace_back([i] {
            for (int k = 0; k < 50; ++k) scope("step", [] { work(1000); }, {0, 20 + i}, {0, 20 + i});
        });
    for (std::thread& thread : threads) thread.join();
    const Trace trace = session.stop();
    CHECK(timed(trace).size() == 200);
    std::vector<int32_t> host_of_track(trace.tracks.size(), -1);
    for (const size_t row : timed(trace)) {
        CHECK(trace.link[row] >= 0);
        int32_t& host = host_of_track[trace.track[row]];
        const auto track = int32_t(trace.track[trace.link[row]]);
        CHECK(host == -1 || host == track);
        host = track;
    }
}

TEST(a_scope_may_end_on_another_stream) {
    TimedSession session;
    scope("step", [] { work(millisecond); }, stream_7, stream_9);
    const Trace trace = session.stop();
    CHECK(timed(trace).size() == 1);
    CHECK(trace.tracks[trace.track[timed(trace)[0]]].tid == "7");
}

TEST(a_scope_that_ends_in_another_context_is_left_out_and_counted) {
    TimedSession session;
    scope("step", [] { set_context(2); });
    CHECK(session.count(&collect::ScopeTimes::elsewhere) == 1);
    set_context(1);
    CHECK(timed(session.stop()).empty());
}

TEST(a_thread_without_a_context_uses_the_one_that_the_program_has) {
    TimedSession session;
    set_context(0);
    scope("step", [] { work(millisecond); });
    set_context(1);
    CHECK(timed(session.stop()).size() == 1);
}

TEST(a_captured_stream_is_left_alone_and_counted) {
    TimedSession session;
    capture(7);
    scope("captured", [] {});
    capture(0);
    scope("begins before the capture", [] { capture(7); });
    CHECK(session.count(&collect::ScopeTimes::captured) == 2);
    scope("other stream", [] { work(millisecond); }, stream_9, stream_9);
    const Trace trace = session.stop();  // the harvest goes on while stream 7 is captured
    capture(0);
    CHECK(timed(trace).size() == 1);
    CHECK(trace.strings[trace.name[timed(trace)[0]]] == "other stream");
    CHECK(session.count(&collect::ScopeTimes::lost) == 0);
}

TEST(what_the_device_has_not_reached_is_waited_for_at_the_end) {
    TimedSession session;
    cuda().call<decltype(fake_hold_events)>("fake_hold_events", 1);
    scope("slow", [] { work(millisecond); });
    const Trace trace = session.stop();
    cuda().call<decltype(fake_hold_events)>("fake_hold_events", 0);
    CHECK(timed(trace).size() == 1);
}

TEST(events_are_used_again_and_all_destroyed_at_the_end) {
    TimedSession session;
    for (int i = 0; i < 1000; ++i) {
        scope("step", [] {});
        if (i % 100 == 99) collect::flush_timed_scopes();
    }
    CHECK(cuda().number("fake_events") <= 300);
    CHECK(timed(session.stop()).size() == 1000);
    CHECK(cuda().number("fake_events") == 0);
    CHECK(cuda().number("fake_streams") == 0);
}

TEST(a_context_that_goes_away_takes_its_scopes_with_it_and_nothing_else) {
    TimedSession session;
    scope("before", [] {});
    collect::flush_timed_scopes();
    set_context(2);
    scope("gone", [] { work(millisecond); });
    cuda().call<decltype(fake_destroy_context)>("fake_destroy_context", 2);
    scope("in what is gone", [] {});
    set_context(1);
    scope("after", [] {});
    const Trace trace = session.stop();
    cuda().call<decltype(fake_destroy_context)>("fake_destroy_context", 0);
    for (const size_t row : timed(trace)) CHECK(trace.strings[trace.name[row]] != "in what is gone");
    row_named(trace, Category::gpu_user_annotation, "before");
    row_named(trace, Category::gpu_user_annotation, "after");
    CHECK(session.count(&collect::ScopeTimes::lost) >= 1);
}

TEST(a_device_that_is_reset_is_left_alone) {
    TimedSession session;
    scope("before", [] {});
    collect::flush_timed_scopes();
    scope("meanwhile", [] { cuda().call<decltype(fake_destroy_context)>("fake_destroy_context", 1); });
    scope("after", [] {});
    const Trace trace = session.stop();
    cuda().call<decltype(fake_destroy_context)>("fake_destroy_context", 0);
    CHECK(timed(trace).size() == 1);
    CHECK(session.count(&collect::ScopeTimes::lost) == 2);
}

TEST(a_scope_without_an_end_is_not_timed_and_leaves_nothing_behind) {
    TimedSession session;
    CHECK(collect::begin_timed_scope(Recorder::instance().intern("open"), gettid(), stream_7) != 0);
    CHECK(timed(session.stop()).empty());
    CHECK(cuda().number("fake_events") == 0);
    collect::end_timed_scope(1, stream_7);  // of a timer that is gone
}

TEST(a_session_that_did_not_ask_has_no_timed_scopes) {
    TimedSession session;
    session.options.wanted.timed_scopes = false;
    scope("step", [] { work(millisecond); });
    const Trace trace = session.stop();
    CHECK(timed(trace).empty());
    CHECK(rows_of(trace, Category::user_annotation).size() == 1);
}

TEST(a_forked_child_times_nothing_and_the_parent_goes_on) {
    TimedSession session;
    scope("before", [] {});
    const pid_t child = fork();
    if (child == 0) _exit(collect::begin_timed_scope(1, gettid(), stream_7) == 0 ? 0 : 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    scope("after", [] {});
    CHECK(timed(session.stop()).size() == 2);
}

CHECK_MAIN
