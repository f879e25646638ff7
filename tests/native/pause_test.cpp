// Pausing a session: nothing of the pause is kept, and everything around it is as if there had been none.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "found.h"
#include "record/recorder.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
using test::count;

namespace {

constexpr uint32_t meta =
    record::open_meta(record::Category::user_annotation, record::RecordScope::user_scope);
constexpr uintptr_t line = 7;
constexpr size_t made_ready = 8 << 20;  // memory that the pool has ahead of need

uint32_t id(std::string_view name) {
    return Recorder::instance().intern(name);
}

void begin(std::string_view name) {
    if (!record::active.load(std::memory_order_relaxed)) return;
    if (record::ThreadBuffer* thread = record::recording_thread())
        record::begin_scope(*thread, record::lane_of(*thread, line), id(name), meta);
}

void end(std::string_view name) {
    const uint64_t now = base::ticks();
    if (!record::active.load(std::memory_order_relaxed)) return;
    if (record::ThreadBuffer* thread = record::recording_thread())
        record::end_scope(*thread, record::lane_of(*thread, line), id(name), now);
}

void scope(std::string_view name) {
    begin(name);
    end(name);
}

void device_span(std::string_view name, int64_t start_ns, int64_t end_ns) {
    if (record::ThreadBuffer* thread = record::recording_thread())
        record::append_device_span(
            *thread,
            {uint64_t(start_ns), uint64_t(end_ns), id(name), record::RecordKind::device_span,
             uint8_t(record::Category::kernel), 0, 0, 0, 0, 0},
            {1, {}, 0, 0}, nullptr, 0);
}

// A moment that is told from those before and after it, whatever the doubt of the clock.
int64_t wait_for_later() {
    constexpr int64_t apart_ns = 20'000'000;
    const int64_t start_ns = base::read_clock_ns(CLOCK_REALTIME);
    while (base::read_clock_ns(CLOCK_REALTIME) < start_ns + 2 * apart_ns) std::this_thread::yield();
    return start_ns + apart_ns;
}

record::SessionOptions options(bool all_threads, bool starts_paused = false) {
    record::SessionOptions options;
    options.all_threads = all_threads;
    options.starts_paused = starts_paused;
    return options;
}

trace::Trace stop(record::SessionId session) {
    return trace::build_trace(Recorder::instance().stop(session));
}

size_t row_of(const trace::Trace& trace, std::string_view name) {
    for (size_t i = 0; i < trace.size(); ++i)
        if (trace.strings[trace.name[i]] == name) return i;
    return SIZE_MAX;
}

bool is_unfinished(const trace::Trace& trace, std::string_view name) {
    return trace.flags[row_of(trace, name)] & trace::event_unfinished;
}

std::string note(const trace::Trace& trace, std::string_view kind) {
    for (const trace::Note& found : trace.notes)
        if (found.kind == kind) return found.text;
    return {};
}

Recorder& recorder() {
    return Recorder::instance();
}

}  // namespace

TEST(nothing_of_a_pause_is_kept) {
    const auto session = recorder().start(options(false));
    scope("before");
    CHECK(recorder().pause(session));
    scope("meanwhile");
    CHECK(recorder().resume(session));
    scope("after");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "before") == 1 && count(trace, "after") == 1);
    CHECK(count(trace, "meanwhile") == 0);
}

TEST(a_pause_leaves_its_two_ends_and_a_note) {
    const auto session = recorder().start(options(false));
    recorder().pause(session);
    recorder().resume(session);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    const size_t paused = row_of(trace, "Recording paused"), resumed = row_of(trace, "Recording resumed");
    CHECK(trace.start_ns[paused] <= trace.start_ns[resumed]);
    CHECK(trace.args_of(paused).starts_with("\"paused_ns\":"));
    CHECK(note(trace, "paused").starts_with("recording was paused 1 time, "));
}

TEST(a_scope_across_a_pause_is_one_event_with_both_its_ends) {
    const auto session = recorder().start(options(false));
    begin("across");
    recorder().pause(session);
    recorder().resume(session);
    end("across");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "across") == 1);
    CHECK(!is_unfinished(trace, "across"));
    CHECK(trace.end_ns(row_of(trace, "across")) >= trace.start_ns[row_of(trace, "Recording resumed")]);
    CHECK(note(trace, "unbalanced").empty());
}

TEST(a_scope_that_ends_in_a_pause_is_unfinished_at_its_begin) {
    const auto session = recorder().start(options(false));
    begin("cut");
    recorder().pause(session);
    end("cut");
    recorder().resume(session);
    scope("after");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "cut") == 1 && is_unfinished(trace, "cut"));
    CHECK(trace.end_ns(row_of(trace, "cut")) == trace.start_ns[row_of(trace, "Recording paused")]);
}

TEST(a_scope_that_begins_in_a_pause_is_there_from_its_end_on) {
    const auto session = recorder().start(options(false));
    recorder().pause(session);
    begin("late");
    recorder().resume(session);
    end("late");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "late") == 1 && !is_unfinished(trace, "late"));
    CHECK(trace.start_ns[row_of(trace, "late")] == trace.start_ns[row_of(trace, "Recording resumed")]);
}

TEST(scopes_of_one_name_are_told_apart_across_a_pause) {
    const auto session = recorder().start(options(false));
    begin("f");
    recorder().pause(session);
    end("f");
    begin("f");
    recorder().resume(session);
    end("f");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "f") == 2);
    const size_t first = row_of(trace, "f");
    CHECK(trace.end_ns(first) <= trace.start_ns[first + 1]);
    CHECK(note(trace, "unbalanced").empty());
}

TEST(what_a_device_did_before_a_pause_may_be_told_in_it) {
    const auto session = recorder().start(options(false));
    scope("before");
    const int64_t before_ns = wait_for_later();
    recorder().pause(session);
    const int64_t paused_ns = wait_for_later();
    device_span("told late", before_ns, before_ns + 1);
    device_span("meanwhile", paused_ns, paused_ns + 1);
    scope("meanwhile");
    wait_for_later();
    recorder().resume(session);
    device_span("meanwhile", paused_ns, paused_ns + 1);
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "told late") == 1 && count(trace, "meanwhile") == 0 && count(trace, "before") == 1);
}

TEST(what_devices_did_in_a_pause_needs_no_memory) {
    const auto session = recorder().start(options(false));
    recorder().pause(session);
    const int64_t paused_ns = wait_for_later();
    const size_t before = recorder().memory_bytes();
    for (int i = 0; i < 400'000; ++i) device_span("meanwhile", paused_ns, paused_ns + 1);
    CHECK(recorder().memory_bytes() <= before + made_ready);
    stop(session);
}

TEST(a_session_that_is_stopped_while_paused_keeps_what_came_before) {
    const auto session = recorder().start(options(true));
    begin("open");
    scope("inside");
    recorder().pause(session);
    scope("meanwhile");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "open") == 1 && is_unfinished(trace, "open"));
    CHECK(count(trace, "inside") == 1 && count(trace, "meanwhile") == 0);
    CHECK(count(trace, "Recording paused") == 1 && count(trace, "Recording resumed") == 0);
    CHECK(record::active.load() == 0);
}

TEST(pausing_one_session_takes_nothing_from_another) {
    const auto outer = recorder().start(options(true));
    const auto inner = recorder().start(options(true));
    recorder().pause(inner);
    scope("meanwhile");
    recorder().resume(inner);
    scope("after");
    const trace::Trace inner_trace = stop(inner);
    const trace::Trace outer_trace = stop(outer);
    CHECK(count(inner_trace, "meanwhile") == 0 && count(inner_trace, "after") == 1);
    CHECK(count(outer_trace, "meanwhile") == 1 && count(outer_trace, "after") == 1);
    CHECK(note(outer_trace, "paused").empty());
}

TEST(a_session_that_starts_while_another_is_paused_knows_what_is_open) {
    const auto paused = recorder().start(options(true));
    recorder().pause(paused);
    begin("outer");
    const auto session = recorder().start(options(true));
    scope("inner");
    end("outer");
    const trace::Trace trace = stop(session);
    stop(paused);
    CHECK(count(trace, "outer") == 1 && !is_unfinished(trace, "outer"));
    CHECK(count(trace, "inner") == 1);
}

TEST(a_session_that_starts_paused_begins_with_its_first_resume) {
    const auto session = recorder().start(options(true, true));
    begin("across");
    scope("warm-up");
    const int64_t before_ns = base::read_clock_ns(CLOCK_REALTIME);
    CHECK(recorder().resume(session));
    scope("recorded");
    end("across");
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(count(trace, "recorded") == 1 && count(trace, "across") == 1);
    CHECK(trace.window_start_ns >= before_ns - 1'000'000);
    CHECK(trace.start_ns[row_of(trace, "across")] == trace.window_start_ns);
    CHECK(note(trace, "paused").empty());
}

TEST(a_session_that_never_resumes_is_empty) {
    const auto session = recorder().start(options(true, true));
    scope("warm-up");
    CHECK(stop(session).size() == 0);
}

TEST(pausing_twice_or_resuming_what_runs_does_nothing) {
    const auto session = recorder().start(options(false));
    CHECK(!recorder().resume(session));
    CHECK(recorder().pause(session));
    CHECK(!recorder().pause(session));
    CHECK(recorder().resume(session));
    stop(session);
    CHECK(!recorder().pause(session) && !recorder().resume(session));
}

TEST(threads_that_begin_and_end_in_a_pause_are_followed) {
    const auto session = recorder().start(options(true));
    recorder().pause(session);
    std::thread([] { scope("short"); }).join();
    std::atomic<bool> resumed{false}, begun{false};
    std::thread long_lived([&] {
        begin("long");
        begun = true;
        while (!resumed) std::this_thread::yield();
        end("long");
    });
    while (!begun) std::this_thread::yield();
    recorder().resume(session);
    resumed = true;
    long_lived.join();
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "short") == 0);
    CHECK(count(trace, "long") == 1 && !is_unfinished(trace, "long"));
}

TEST(joining_and_leaving_work_while_paused) {
    const auto session = recorder().start(options(false));
    recorder().pause(session);
    std::thread([&] {
        CHECK(recorder().join(session));
        scope("paused");
        recorder().resume(session);
        scope("joined");
        recorder().pause(session);
        CHECK(recorder().leave(session));
        CHECK(!recorder().leave(session));
        recorder().resume(session);
        scope("left");
    }).join();
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "joined") == 1 && count(trace, "paused") == 0 && count(trace, "left") == 0);
}

TEST(ten_thousand_pauses_need_no_memory_of_their_own) {
    const auto session = recorder().start(options(false));
    begin("outer");
    const size_t before = recorder().memory_bytes();
    for (int i = 0; i < 10'000; ++i) {
        recorder().pause(session);
        scope("meanwhile");
        recorder().resume(session);
        scope("recorded");
    }
    CHECK(recorder().memory_bytes() <= before + made_ready);
    end("outer");
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "recorded") == 10'000 && count(trace, "meanwhile") == 0);
    CHECK(count(trace, "outer") == 1);
}

// Each scope is seen twice: open when the pause began, and recorded when it ended.
TEST(a_hundred_thousand_scopes_across_pauses_are_each_one_event) {
    constexpr size_t pauses = 100'000;
    const auto session = recorder().start(options(false));
    for (size_t i = 0; i < pauses; ++i) {
        begin("across");
        recorder().pause(session);
        recorder().resume(session);
        end("across");
    }
    record::Recording recording = recorder().stop(session);
    CHECK(recording.threads.at(0).open.size() == pauses);
    const trace::Trace trace = trace::build_trace(std::move(recording));
    CHECK(count(trace, "across") == pauses && count(trace, "Recording resumed") == pauses);
    size_t unfinished = 0;
    for (size_t i = 0; i < trace.size(); ++i) unfinished += (trace.flags[i] & trace::event_unfinished) != 0;
    CHECK(unfinished == 0);
}

TEST(forgetting_what_has_ended_looks_at_each_scope_once) {
    std::vector<record::OpenScopeCopy> open;
    record::ScopeSet ended;
    for (uint32_t i = 0; i < 100'000; ++i) {
        open.push_back({i, 1, 0, 0});
        if (i % 2 == 0) ended.insert(open.back());
    }
    CHECK(record::forget(open, ended) == 100'000);
    CHECK(open.size() == 50'000 && open.front().start == 1);
}

TEST(a_scope_open_across_many_pauses_is_remembered_once) {
    const auto session = recorder().start(options(false));
    begin("outer");
    for (int i = 0; i < 100'000; ++i) {
        recorder().pause(session);
        recorder().resume(session);
    }
    const record::Recording recording = recorder().stop(session);
    CHECK(recording.threads.at(0).open.size() == 1);
    end("outer");
}

TEST(a_long_pause_keeps_nothing) {
    const auto session = recorder().start(options(false));
    recorder().pause(session);
    const size_t before = recorder().memory_bytes();
    for (int i = 0; i < 400'000; ++i) scope("meanwhile");
    CHECK(recorder().memory_bytes() <= before + made_ready);
    const trace::Trace trace = stop(session);
    CHECK(count(trace, "meanwhile") == 0 && note(trace, "dropped").empty());
}

// What the thread sanitizer is for: whoever pauses reads the stacks of threads that go on.
TEST(sessions_pause_and_resume_while_threads_record) {
    std::atomic<bool> done{false};
    std::atomic<uint64_t> rounds{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            while (!done.load(std::memory_order_relaxed)) {
                begin("outer");
                scope("inner");
                end("outer");
                rounds.fetch_add(1, std::memory_order_relaxed);
            }
        });
    for (int round = 0; round < 4; ++round) {
        const auto session = recorder().start(options(true, round % 2 == 0));
        for (int change = 0; change < 20; ++change) {
            const uint64_t before = rounds.load();
            while (rounds.load() < before + 3) std::this_thread::yield();
            change % 2 == 0 ? recorder().pause(session) : recorder().resume(session);
        }
        const trace::Trace trace = stop(session);
        for (size_t i = 0; i < trace.size(); ++i) CHECK(trace.end_ns(i) <= trace.window_end_ns);
        // A scope that was both copied as open and recorded would lie on its track twice.
        for (size_t i = 1; i < trace.size(); ++i)
            CHECK(trace.track[i] != trace.track[i - 1] || trace.start_ns[i] != trace.start_ns[i - 1] ||
                  trace.name[i] != trace.name[i - 1]);
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
}

CHECK_MAIN
