// From samples of other threads to spans: what the sampler writes, and what the builder makes of it.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "check.h"
#include "collect/python_samples/stack_writer.h"
#include "found.h"
#include "record/recorder.h"
#include "trace/builder.h"
#include "trace/samples.h"

using namespace kinetograph;
using record::OtherThread;
using record::Recorder;
using test::count;

namespace {

uint32_t id(std::string_view name) {
    return Recorder::instance().intern(name);
}

// One thread's worth of samples at chosen ticks, in memory of the test.
class Sampled {
public:
    Sampled() {
        header_ = new (memory_) record::ExtentHeader{};
        header_->capacity = room;
        buffer_.extent = {header_, nullptr};
    }
    void see(OtherThread thread, uint64_t at, const std::vector<uint32_t>& names) {
        writer_.write(buffer_, thread, at, names);
    }
    void see_open_stack(OtherThread thread, uint64_t at, const std::vector<uint32_t>& names) {
        record::append_with_payload(
            buffer_, {at, thread.packed(), 0, record::RecordKind::open_stack, 9, 0, 0, 0, 0, 0}, nullptr,
            reinterpret_cast<const char*>(names.data()), names.size() * sizeof names[0]);
    }
    const record::Record* begin() const { return header_->records(); }
    const record::Record* end() const { return header_->records() + header_->used(); }
    uint32_t units() const { return header_->used(); }

private:
    static constexpr uint32_t room = 500;
    alignas(64) std::byte memory_[sizeof(record::ExtentHeader) + room * sizeof(record::Record)] = {};
    record::ExtentHeader* header_;
    record::ThreadBuffer buffer_;
    collect::StackWriter writer_;
};

using Span = std::tuple<uint32_t, uint64_t, uint64_t, bool>;

std::vector<Span> spans_of(trace::Samples& samples, int32_t tid) {
    std::vector<Span> spans;
    const auto by_thread = samples.take_spans();
    for (const trace::SampledSpan& span : by_thread.at(tid))
        spans.emplace_back(span.name, span.start, span.end, span.is_open);
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::make_tuple(std::get<1>(a), std::get<0>(a)) <
               std::make_tuple(std::get<1>(b), std::get<0>(b));
    });
    return spans;
}

bool any(uint32_t) {
    return true;
}

trace::Samples read(const Sampled& sampled, record::Window window = {0, 100}) {
    trace::Samples samples(window, {}, any);
    record::for_each_record({sampled.begin(), sampled.end(), false},
                            [&](const auto& record) { samples.see(record); });
    return samples;
}

constexpr OtherThread thread{42, 1};

}  // namespace

// at      10   20   30   40
// 1       ================-->
// 2       =========
// 3            ====
// 4                 =======-->
TEST(a_span_lasts_from_the_first_sample_with_it_to_the_first_without) {
    Sampled sampled;
    sampled.see(thread, 10, {1, 2});
    sampled.see(thread, 20, {1, 2, 3});
    sampled.see(thread, 30, {1, 4});
    sampled.see(thread, 40, {1, 4});
    trace::Samples samples = read(sampled);
    const std::vector<Span> expected{
        {1, 10, 100, true}, {2, 10, 30, false}, {3, 20, 30, false}, {4, 30, 100, true}};
    CHECK(spans_of(samples, 42) == expected);
}

TEST(outer_spans_come_before_those_within_them) {
    Sampled sampled;
    sampled.see(thread, 10, {1, 2, 3});
    sampled.see(thread, 20, {});
    trace::Samples samples = read(sampled);
    const std::vector<trace::SampledSpan> spans = samples.take_spans()[42];
    CHECK(spans.size() == 3 && spans[0].name == 1 && spans[1].name == 2 && spans[2].name == 3);
}

TEST(a_thread_that_got_the_id_of_another_begins_anew) {
    Sampled sampled;
    sampled.see({42, 1}, 10, {1});
    sampled.see({42, 2}, 20, {1});
    trace::Samples samples = read(sampled);
    const std::vector<Span> expected{{1, 10, 20, false}, {1, 20, 100, true}};
    CHECK(spans_of(samples, 42) == expected);
}

TEST(the_end_of_a_thread_that_is_told_late_ends_nothing_of_the_one_that_got_its_id) {
    Sampled sampled;
    sampled.see({42, 1}, 10, {1});
    sampled.see({42, 2}, 20, {1});
    sampled.see({42, 1}, 21, {});
    trace::Samples samples = read(sampled);
    const std::vector<Span> expected{{1, 10, 20, false}, {1, 20, 100, true}};
    CHECK(spans_of(samples, 42) == expected);
}

TEST(a_stack_that_comes_again_costs_one_record) {
    Sampled sampled;
    sampled.see(thread, 10, {1, 2, 3});
    const uint32_t spelled = sampled.units();
    CHECK(spelled > 1);
    sampled.see(thread, 20, {1, 2, 3});
    CHECK(sampled.units() == spelled + 1);
}

TEST(a_stack_spelled_before_the_window_is_known_in_it) {
    Sampled sampled;
    sampled.see(thread, 10, {1});
    sampled.see(thread, 50, {1});
    trace::Samples samples = read(sampled, {30, 100});
    const std::vector<Span> expected{{1, 50, 100, true}};
    CHECK(spans_of(samples, 42) == expected);
}

TEST(a_number_that_nothing_spells_is_passed_over) {
    Sampled sampled;
    sampled.see(thread, 10, {1});
    const uint32_t first = sampled.units();
    sampled.see(thread, 20, {1});
    trace::Samples samples({0, 100}, {}, any);
    record::for_each_record({sampled.begin() + first, sampled.end(), false},
                            [&](const auto& record) { samples.see(record); });
    CHECK(samples.take_spans().empty());
}

TEST(a_thread_that_only_waited_shows_its_stack_over_the_whole_window) {
    Sampled sampled;
    sampled.see_open_stack(thread, 10, {1, 2});
    sampled.see_open_stack(thread, 90, {1, 2});
    trace::Samples samples = read(sampled, {5, 100});
    const std::vector<Span> expected{{1, 5, 100, true}, {2, 5, 100, true}};
    CHECK(spans_of(samples, 42) == expected);
}

TEST(calls_that_a_thread_recorded_itself_say_more_than_its_open_stack) {
    Sampled sampled;
    sampled.see_open_stack(thread, 10, {1, 2});
    trace::Samples samples = read(sampled);
    trace::OwnCalls own;
    own.see(0, 100, 1, 0);
    own.see(0, 50, 2, 0);
    own.see(60, 70, 3, 0);
    samples.has_own_calls(42, own);
    CHECK(samples.take_spans().empty());
}

TEST(a_call_that_its_thread_left_unseen_was_over_at_the_first_sign_of_the_thread) {
    Sampled sampled;
    sampled.see_open_stack(thread, 10, {1, 2});
    sampled.see_open_stack(thread, 90, {1, 5});
    trace::Samples samples = read(sampled);
    trace::OwnCalls own;
    own.see(0, 100, 1, 0);
    own.see(60, 70, 3, 0);
    samples.has_own_calls(42, own);
    const std::vector<Span> expected{{2, 0, 60, false}};
    CHECK(spans_of(samples, 42) == expected);
}

namespace {

// Samples `rounds` times a stack of its own among changing ones, as a sampler would.
void sample_many(int rounds) {
    collect::StackWriter writer;
    const std::vector<uint32_t> steady{id("outer"), id("steady")};
    for (int i = 0; i < rounds; ++i) {
        record::ThreadBuffer* buffer = record::serving_thread();
        if (!buffer) return;
        writer.write(*buffer, {7, 1}, base::ticks(), steady);
        writer.write(*buffer, {8, 1}, base::ticks(), {id("outer"), id("step " + std::to_string(i % 100))});
    }
}

}  // namespace

TEST(a_ring_understands_what_it_has_kept) {
    record::SessionOptions options;
    options.all_threads = true;
    options.ring_bytes = 4 * record::slab_bytes;
    const record::SessionId session = Recorder::instance().start(options);
    std::thread(sample_many, 40'000).join();
    const trace::Trace trace = trace::build_trace(Recorder::instance().stop(session));
    CHECK(count(trace, "steady") == 1);
    CHECK(count(trace, "step 99") > 1);
    CHECK(count(trace, "") == 0);
    CHECK(trace.tracks.size() == 2);
}

TEST(stacks_first_seen_in_a_pause_are_known_behind_it) {
    record::SessionOptions options;
    options.all_threads = options.starts_paused = true;
    const record::SessionId session = Recorder::instance().start(options);
    std::thread([session] {
        collect::StackWriter writer;
        const auto sample = [&writer] {
            for (const int32_t tid : {7, 8})
                writer.write(*record::serving_thread(), {tid, 1}, base::ticks(),
                             {id("runs as " + std::to_string(tid))});
        };
        sample();
        CHECK(!writer.write(*record::serving_thread(), {7, 1}, base::ticks(), {}));
        Recorder::instance().resume(session);
        sample();
        CHECK(writer.write(*record::serving_thread(), {7, 1}, base::ticks(), {}));
    }).join();
    const trace::Trace trace = trace::build_trace(Recorder::instance().stop(session));
    CHECK(count(trace, "runs as 7") == 1);
    CHECK(count(trace, "runs as 8") == 1);
}

TEST(a_thread_that_records_nothing_has_the_name_that_it_was_given) {
    std::atomic<int32_t> tid{0};
    std::atomic<bool> is_over{false};
    std::thread silent([&] {
        tid = int32_t(syscall(SYS_gettid));
        is_over.wait(false);
    });
    while (tid == 0) std::this_thread::yield();
    record::SessionOptions options;
    options.all_threads = true;
    const record::SessionId session = Recorder::instance().start(options);
    Recorder::instance().give_thread_name(tid, "given");
    std::thread([&] {
        collect::StackWriter().write(*record::serving_thread(), {tid, 1}, base::ticks(), {id("function")});
    }).join();
    is_over = true;
    is_over.notify_all();
    silent.join();
    const trace::Trace trace = trace::build_trace(Recorder::instance().stop(session));
    CHECK(trace.tracks.size() == 1 && trace.tracks[0].name.ends_with("(given)"));
}

TEST(a_session_of_chosen_threads_sees_no_samples_of_others) {
    const record::SessionId session = Recorder::instance().start({});
    std::thread(sample_many, 10).join();
    CHECK(trace::build_trace(Recorder::instance().stop(session)).size() == 0);
}

TEST(a_session_that_wants_no_samples_has_none) {
    record::SessionOptions options;
    options.all_threads = true;
    const record::SessionId session = Recorder::instance().start(options);
    std::thread(sample_many, 10).join();
    trace::BuildOptions without;
    without.wanted.samples = false;
    CHECK(trace::build_trace(Recorder::instance().stop(session), without).size() == 0);
}

CHECK_MAIN
