// The recorder under many threads and sessions; this is what the sanitizer builds are for.
#include "record/recorder.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "found.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
using test::count;
using test::has_note;

namespace {

constexpr uint32_t meta =
    record::open_meta(record::Category::user_annotation, record::RecordScope::user_scope);
constexpr uintptr_t main_line = 7;

uint32_t id(std::string_view name) {
    return Recorder::instance().intern(name);
}

struct Scope {
    explicit Scope(uint32_t scope_name, uintptr_t scope_context = main_line)
        : name(scope_name), context(scope_context) {
        if (record::ThreadBuffer* thread = recording())
            record::begin_scope(*thread, record::lane_of(*thread, context), name, meta);
    }
    ~Scope() {
        const uint64_t now = base::ticks();
        if (record::ThreadBuffer* thread = recording())
            record::end_scope(*thread, record::lane_of(*thread, context), name, now);
    }
    static record::ThreadBuffer* recording() {
        return record::active.load(std::memory_order_relaxed) ? record::recording_thread() : nullptr;
    }
    uint32_t name;
    uintptr_t context;
};

record::SessionOptions all_threads() {
    record::SessionOptions options;
    options.all_threads = true;
    return options;
}

trace::Trace stop(record::SessionId session) {
    return trace::build_trace(Recorder::instance().stop(session));
}

// A tree of scopes with `width` children a node.
void tree(int depth, int width, uint32_t name) {
    Scope scope(name);
    if (depth == 0) return;
    for (int i = 0; i < width; ++i) tree(depth - 1, width, name);
}

}  // namespace

TEST(nothing_is_recorded_without_a_session) {
    {
        Scope scope(id("before"));
    }
    const auto session = Recorder::instance().start({});
    {
        Scope scope(id("during"));
    }
    const trace::Trace trace = stop(session);
    {
        Scope scope(id("after"));
    }
    CHECK(trace.size() == 1);
    CHECK(count(trace, "during") == 1);
    CHECK(record::active.load() == 0);
}

TEST(nested_scopes_come_out_parent_first_with_their_parents) {
    const auto session = Recorder::instance().start({});
    tree(6, 3, id("node"));
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1093);
    const trace::Nesting nesting = trace::nest(trace);
    std::map<int, int> by_depth;
    for (size_t i = 0; i < trace.size(); ++i) {
        ++by_depth[nesting.depth[i]];
        if (i > 0) CHECK(trace.start_ns[i] >= trace.start_ns[i - 1]);
    }
    int expected = 1;
    for (int depth = 0; depth <= 6; ++depth, expected *= 3) CHECK(by_depth[depth] == expected);
}

TEST(a_scope_still_open_at_stop_is_unfinished) {
    const auto session = Recorder::instance().start({});
    trace::Trace trace = [&] {
        Scope outer(id("outer"));
        {
            Scope inner(id("inner"));
        }
        return stop(session);
    }();
    CHECK(trace.size() == 2);
    CHECK(trace.strings[trace.name[0]] == "outer");
    CHECK(trace.flags[0] & trace::event_unfinished);
    CHECK(!(trace.flags[1] & trace::event_unfinished));
    CHECK(trace.end_ns(0) == trace.window_end_ns);
}

TEST(overlapping_sessions_each_get_their_own_window) {
    const auto first = Recorder::instance().start({});
    {
        Scope scope(id("one"));
    }
    const auto second = Recorder::instance().start({});
    {
        Scope scope(id("two"));
    }
    const trace::Trace first_trace = stop(first);
    {
        Scope scope(id("three"));
    }
    const trace::Trace second_trace = stop(second);
    CHECK(count(first_trace, "one") == 1 && count(first_trace, "two") == 1 &&
          count(first_trace, "three") == 0);
    CHECK(count(second_trace, "one") == 0 && count(second_trace, "two") == 1 &&
          count(second_trace, "three") == 1);
}

TEST(a_session_of_one_thread_sees_no_other) {
    const auto session = Recorder::instance().start({});
    std::thread([] { Scope scope(id("elsewhere")); }).join();
    {
        Scope scope(id("here"));
    }
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "here") == 1);
    CHECK(count(trace, "elsewhere") == 0);
}

TEST(a_thread_that_joins_is_seen_while_it_takes_part) {
    const auto session = Recorder::instance().start({});
    std::thread([&] {
        {
            Scope scope(id("too early"));
        }
        CHECK(Recorder::instance().join(session));
        {
            Scope scope(id("in time"));
        }
        CHECK(Recorder::instance().leave(session));
        {
            Scope scope(id("too late"));
        }
        CHECK(!Recorder::instance().leave(session));
    }).join();
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "in time") == 1);
    CHECK(trace.size() == 1);
}

TEST(a_thread_that_left_and_died_is_still_known_to_its_session) {
    const auto session = Recorder::instance().start({});
    std::thread([&] {
        CHECK(Recorder::instance().join(session));
        CHECK(Recorder::instance().leave(session));
    }).join();
    stop(Recorder::instance().start({}));  // lets go of dead threads
    CHECK(stop(session).size() == 0);
}

TEST(a_scope_across_leaving_and_coming_back_is_one_event) {
    for (const bool ends : {true, false}) {
        const auto everything = Recorder::instance().start(all_threads());
        const auto session = Recorder::instance().start({});
        trace::Trace trace;
        std::thread([&] {
            CHECK(Recorder::instance().join(session));
            auto* thread = record::recording_thread();
            const uint32_t name = id("across");
            record::begin_scope(*thread, record::lane_of(*thread, main_line), name, meta);
            CHECK(Recorder::instance().leave(session));
            CHECK(Recorder::instance().join(session));
            if (ends) record::end_scope(*thread, record::lane_of(*thread, main_line), name, base::ticks());
            trace = stop(session);
        }).join();
        stop(everything);
        CHECK(count(trace, "across") == 1);
        CHECK(ends == !(trace.flags[0] & trace::event_unfinished));
    }
}

TEST(a_ring_longer_than_the_clock_keeps_everything) {
    record::SessionOptions options;
    options.ring_ns = INT64_MAX;
    const auto session = Recorder::instance().start(options);
    for (int i = 0; i < 10'000; ++i) Scope scope(id("kept"));
    CHECK(stop(session).size() == 10'000);
}

TEST(a_window_that_a_ring_has_passed_is_no_window) {
    record::SessionOptions options;
    options.ring_ns = 1'000'000;
    const auto session = Recorder::instance().start(options);
    {
        Scope scope(id("old"));
    }
    CHECK(Recorder::instance().leave(session));
    const int64_t start_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
    while (base::read_clock_ns(CLOCK_MONOTONIC_RAW) < start_ns + 3'000'000) std::this_thread::yield();
    const trace::Trace trace = stop(session);
    for (size_t i = 0; i < trace.size(); ++i) CHECK(trace.duration_ns[i] >= 0);
}

TEST(a_ring_that_is_held_keeps_what_it_had_however_late_it_is_stopped_and_whatever_is_told_meanwhile) {
    for (const bool by_time : {true, false}) {
        record::SessionOptions options;
        options.ring_ns = by_time ? 50'000'000 : 0;
        options.ring_bytes = by_time ? 0 : 1 << 20;
        const auto session = Recorder::instance().start(options);
        {
            Scope scope(id("newest"));
        }
        Recorder::instance().hold_ring(session, true);
        const int64_t start_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
        while (base::read_clock_ns(CLOCK_MONOTONIC_RAW) < start_ns + 60'000'000) Scope scope(id("told late"));
        CHECK(count(stop(session), "newest") == 1);
    }
}

TEST(a_ring_that_is_no_longer_held_lets_go) {
    record::SessionOptions options;
    options.ring_bytes = 1 << 20;
    const auto session = Recorder::instance().start(options);
    Recorder::instance().hold_ring(session, true);
    {
        Scope scope(id("old"));
    }
    Recorder::instance().hold_ring(session, false);
    for (int i = 0; i < 100'000; ++i) Scope scope(id("new"));
    CHECK(count(stop(session), "old") == 0);
}

TEST(spans_told_in_any_order_come_out_in_order) {
    const auto session = Recorder::instance().start({});
    auto* thread = record::recording_thread();
    const uint64_t now = base::ticks();
    for (const auto& [start, end] : {std::pair(30, 40), std::pair(10, 20), std::pair(25, 26)})
        record::append(*thread, {now + uint64_t(start) * 1000, now + uint64_t(end) * 1000, id("told"),
                                 record::RecordKind::span, 0, 0, 0, 0, 0, 0});
    const uint64_t until = now + 50'000;
    while (base::ticks() < until) std::this_thread::yield();
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    CHECK(trace.start_ns[0] < trace.start_ns[1] && trace.start_ns[1] < trace.start_ns[2]);
}

TEST(threads_that_come_and_go_lose_nothing) {
    const size_t threads_before = Recorder::instance().thread_count();
    const auto session = Recorder::instance().start(all_threads());
    constexpr int rounds = 50, width = 8, scopes = 100;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < width; ++i)
            threads.emplace_back([] {
                for (int n = 0; n < scopes; ++n) Scope scope(id("short"));
            });
        for (std::thread& thread : threads) thread.join();
    }
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "short") == size_t(rounds * width * scopes));
    CHECK(Recorder::instance().thread_count() <= threads_before + 1);
}

TEST(a_thread_that_outlives_the_last_session_gives_its_memory_back_when_it_ends) {
    constexpr int scopes = 400'000;  // more than is kept ready
    const size_t before = std::max(size_t(1) << 20, Recorder::instance().memory_bytes());
    std::atomic<bool> has_recorded{false}, may_end{false};
    const record::SessionId session = Recorder::instance().start(all_threads());
    std::thread thread([&] {
        for (int i = 0; i < scopes; ++i) Scope scope(id("long"));
        has_recorded = true;
        has_recorded.notify_one();
        may_end.wait(false);
    });
    has_recorded.wait(false);
    CHECK(stop(session).size() == scopes);
    CHECK(Recorder::instance().memory_bytes() > before);  // what it would write to next
    may_end = true;
    may_end.notify_one();
    thread.join();
    CHECK(Recorder::instance().memory_bytes() <= before);
}

TEST(sessions_start_and_stop_while_threads_record) {
    std::atomic<bool> done{false};
    std::atomic<uint64_t> recorded{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            const uint32_t name = id("busy");
            while (!done.load(std::memory_order_relaxed)) {
                tree(2, 3, name);
                recorded.fetch_add(1, std::memory_order_relaxed);
            }
        });
    for (int round = 0; round < 15; ++round) {
        const auto outer = Recorder::instance().start(all_threads());
        const auto inner = Recorder::instance().start(all_threads());
        const uint64_t before = recorded.load();
        while (recorded.load() < before + 3) std::this_thread::yield();
        const trace::Trace inner_trace = stop(inner);
        const trace::Trace outer_trace = stop(outer);
        CHECK(outer_trace.size() >= inner_trace.size());
        for (size_t i = 0; i < outer_trace.size(); ++i) {
            CHECK(outer_trace.strings[outer_trace.name[i]] == "busy");
            CHECK(outer_trace.start_ns[i] >= outer_trace.window_start_ns);
            CHECK(outer_trace.end_ns(i) <= outer_trace.window_end_ns);
        }
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
}

TEST(a_session_may_stop_in_another_thread_than_it_started) {
    const auto session = Recorder::instance().start({});
    {
        Scope scope(id("mine"));
    }
    trace::Trace trace;
    std::thread([&] { trace = stop(session); }).join();
    CHECK(count(trace, "mine") == 1);
}

TEST(stopping_twice_is_an_error_not_a_crash) {
    const auto session = Recorder::instance().start({});
    stop(session);
    bool refused = false;
    try {
        stop(session);
    } catch (const std::out_of_range&) {
        refused = true;
    }
    CHECK(refused);
}

TEST(interleaved_contexts_lie_on_lanes_of_their_own) {
    const auto session = Recorder::instance().start({});
    auto* thread = record::recording_thread();
    const uint32_t a = id("task a"), b = id("task b");
    record::begin_scope(*thread, record::lane_of(*thread, 100), a, meta);
    record::begin_scope(*thread, record::lane_of(*thread, 200), b, meta);
    record::end_scope(*thread, record::lane_of(*thread, 100), a, base::ticks());
    record::end_scope(*thread, record::lane_of(*thread, 200), b, base::ticks());
    record::begin_scope(*thread, record::lane_of(*thread, 300), a,
                        meta);  // everything is idle: back to the thread
    record::end_scope(*thread, record::lane_of(*thread, 300), a, base::ticks());
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    CHECK(trace.tracks.size() == 2);
    CHECK(trace.tracks[1].parent == 0);
}

TEST(ends_out_of_order_keep_their_times) {
    const auto session = Recorder::instance().start({});
    auto* thread = record::recording_thread();
    const uint32_t a = id("first"), b = id("second");
    record::Lane& lane = record::lane_of(*thread, main_line);
    record::begin_scope(*thread, lane, a, meta);
    record::begin_scope(*thread, lane, b, meta);
    record::end_scope(*thread, lane, a, base::ticks());
    record::end_scope(*thread, lane, b, base::ticks());
    record::end_scope(*thread, lane, b, base::ticks());  // never begun
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(trace.strings[trace.name[0]] == "first");
    CHECK(trace.start_ns[0] <= trace.start_ns[1] && trace.end_ns(0) <= trace.end_ns(1));
    CHECK(has_note(trace, "unbalanced"));
}

TEST(nesting_deeper_than_a_stack_is_counted) {
    const auto session = Recorder::instance().start({});
    auto* thread = record::recording_thread();
    const uint32_t name = id("deep");
    constexpr int depth = 6000;
    for (int i = 0; i < depth; ++i)
        record::begin_scope(*thread, record::lane_of(*thread, main_line), name, meta);
    for (int i = 0; i < depth; ++i)
        record::end_scope(*thread, record::lane_of(*thread, main_line), name, base::ticks());
    {
        Scope scope(id("afterwards"));
    }
    const trace::Trace trace = stop(session);
    CHECK(trace.size() >= 4000 && trace.size() < size_t(depth));
    CHECK(count(trace, "afterwards") == 1);
    CHECK(has_note(trace, "too_deep"));
}

TEST(at_the_limit_the_newest_are_dropped_and_counted) {
    record::SessionOptions options;
    options.limits = {8 << 20, record::AtLimit::drop, {}};
    const auto session = Recorder::instance().start(options);
    const uint32_t name = id("many");
    {
        Scope scope(id("oldest"));
    }
    for (int i = 0; i < 400'000; ++i) Scope scope(name);
    {
        Scope scope(id("newest"));
    }
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "oldest") == 1);
    CHECK(count(trace, "newest") == 0);
    CHECK(trace.size() > 50'000 && trace.size() < 400'000);
    CHECK(has_note(trace, "dropped"));
}

TEST(at_the_limit_everything_is_spilled) {
    record::SessionOptions options;
    options.limits = {8 << 20, record::AtLimit::spill, {}};
    const auto session = Recorder::instance().start(options);
    const uint32_t name = id("spilled");
    for (int i = 0; i < 400'000; ++i) Scope scope(name);
    CHECK(Recorder::instance().memory_bytes() <= size_t(8) << 20);
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "spilled") == 400'000);
    CHECK(!has_note(trace, "dropped"));
}

TEST(appending_allocates_nothing) {
    const auto session = Recorder::instance().start({});
    const uint32_t name = id("scope");
    for (int i = 0; i < 200; ++i) Scope scope(name);  // past the small extent a thread begins with
    // The keeper allocates, too, for the segment that it makes ready.
    while (Recorder::instance().memory_bytes() < record::segment_bytes) std::this_thread::yield();
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; ++i) Scope scope(name);
    const size_t after = mallinfo2().uordblks;
    CHECK(stop(session).size() == 1200);
    CHECK(after == before);
}

TEST(a_step_of_the_wall_clock_is_noted_in_the_trace) {
    static int64_t step_ns = 0;
    const auto stepping = []() noexcept { return base::read_clock_ns(CLOCK_REALTIME) + step_ns; };
    const base::ClockSources before = base::exchange_clock_sources({nullptr, +stepping});
    const auto session = Recorder::instance().start({});
    {
        Scope scope(id("scope"));
    }
    step_ns = -60'000'000'000;
    const trace::Trace trace = stop(session);
    base::exchange_clock_sources(before);
    bool is_noted = false;
    for (const trace::Note& note : trace.notes) is_noted |= note.text.find("stepped") != std::string::npos;
    CHECK(is_noted);
    CHECK(trace.duration_ns[0] >= 0 && trace.duration_ns[0] < 1'000'000'000);
}

TEST(a_ring_keeps_the_newest) {
    record::SessionOptions options;
    options.ring_bytes = 1 << 20;
    const auto session = Recorder::instance().start(options);
    const uint32_t name = id("ring");
    {
        Scope scope(id("oldest"));
    }
    for (int i = 0; i < 400'000; ++i) Scope scope(name);
    {
        Scope scope(id("newest"));
    }
    CHECK(Recorder::instance().memory_bytes() <= size_t(12) << 20);  // the ring, and what is kept ready
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "newest") == 1);
    CHECK(count(trace, "oldest") == 0);
    CHECK(trace.size() > 20'000 && trace.size() < 40'000);
}

TEST(a_ring_of_time_keeps_the_newest) {
    record::SessionOptions options;
    options.ring_ns = 200'000'000;  // more than a busy machine keeps a thread waiting
    const auto session = Recorder::instance().start(options);
    {
        Scope scope(id("oldest"));
    }
    const int64_t start_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
    while (base::read_clock_ns(CLOCK_MONOTONIC_RAW) < start_ns + 500'000'000) Scope scope(id("ring"));
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "oldest") == 0);
    CHECK(trace.size() > 0);
    const int64_t newest_ns = trace.start_ns[trace.size() - 1];  // the end may come late, on a busy machine
    CHECK(newest_ns - trace.start_ns[0] < 240'000'000);
}

TEST(a_forked_child_starts_clean_and_the_parent_keeps_its_data) {
    const auto session = Recorder::instance().start(all_threads());
    {
        Scope scope(id("before fork"));
    }
    const pid_t child = fork();
    if (child == 0) {
        const bool clean = record::active.load() == 0 && !Recorder::instance().is_running(session);
        const auto own = Recorder::instance().start({});
        {
            Scope scope(id("in child"));
        }
        const trace::Trace trace = stop(own);
        _exit(clean && trace.size() == 1 ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    {
        Scope scope(id("after fork"));
    }
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "before fork") == 1 && count(trace, "after fork") == 1 &&
          count(trace, "in child") == 0);
}

TEST(payloads_become_arguments) {
    const auto session = Recorder::instance().start({});
    auto* thread = record::recording_thread();
    const std::string small = "\"step\":3", large = "\"x\":\"" + std::string(50'000, 'y') + "\"",
                      oversized = "\"x\":\"" + std::string(70'000, 'y') + "\"";
    for (const std::string& payload : {small, large, oversized}) {
        const uint64_t now = base::ticks();
        record::append_with_payload(*thread,
                                    {now, now, id("event"), record::RecordKind::instant, 8, 7, 0, 0, 0, 0},
                                    nullptr, payload.data(), payload.size());
    }
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    CHECK(trace.args_of(0) == small);
    CHECK(trace.args_of(1) == large);
    CHECK(trace.args_of(2).empty());
    CHECK(has_note(trace, "oversized"));
}

TEST(names_are_forgotten_only_when_nobody_reads_them) {
    base::StringTable table;
    const uint32_t first = table.intern("first");
    table.forget_if([] { return false; });
    CHECK(table.lookup(first) == "first");
    table.forget_if([] { return true; });
    CHECK(!table.is_valid(first));
    CHECK(table.lookup(first).empty());
    const uint32_t second = table.intern("second");
    CHECK(second != first);
    CHECK(table.is_valid(second) && table.lookup(second) == "second");
}

TEST(names_of_foreign_code_are_never_forgotten) {
    base::StringTable table;
    const uint32_t name = table.intern_for_ever("fixed");
    table.intern("passing");
    table.forget_if([] { return true; });
    CHECK(table.lookup(name) == "fixed");
    CHECK(table.intern_for_ever("fixed") == name);
}

TEST(names_beyond_the_limit_become_one) {
    base::StringTable table;
    table.set_limit(10'000);
    uint32_t last = 0;
    for (int i = 0; i < 1000; ++i) last = table.intern("name " + std::to_string(i));
    CHECK(table.refused() > 0);
    CHECK(table.lookup(last).starts_with("<name not kept"));
    CHECK(table.bytes() < 11'000);
}

CHECK_MAIN
