// Rings: they keep the newest, whatever becomes of memory and of threads.
#include <thread>

#include "check.h"
#include "found.h"
#include "record/recorder.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
using test::count;
using test::has_note;

namespace {

constexpr size_t scopes_per_slab = record::slab_units;

Recorder& recorder() {
    return Recorder::instance();
}

void mark(std::string_view name) {
    const uint64_t now = base::ticks();
    record::ThreadBuffer* thread = record::recording_thread();
    CHECK(thread != nullptr);
    record::append(*thread,
                   {now, now, recorder().intern(name), record::RecordKind::instant, 8, 0, 0, 0, 0, 0});
}

record::SessionOptions ring(uint64_t ring_bytes, size_t memory_bytes) {
    record::SessionOptions options;
    options.all_threads = true;
    options.ring_bytes = ring_bytes;
    options.limits = {memory_bytes, record::AtLimit::drop, {}};
    return options;
}

}  // namespace

TEST(a_ring_larger_than_memory_goes_on_with_the_newest) {
    constexpr size_t slabs = 16;
    const auto session = recorder().start(ring(uint64_t(64) << 20, 2 * slabs * record::slab_bytes));
    mark("first");
    for (size_t i = 0; i < 5 * slabs * scopes_per_slab; ++i) mark("old");
    for (size_t i = 0; i < scopes_per_slab; ++i) mark("new");
    const trace::Trace trace = trace::build_trace(recorder().stop(session));
    CHECK(count(trace, "new") == scopes_per_slab);
    CHECK(count(trace, "first") == 0 && count(trace, "old") > scopes_per_slab);
    CHECK(!has_note(trace, "dropped"));
}

TEST(beside_a_session_that_wants_all_a_ring_drops_what_is_new) {
    constexpr size_t slabs = 16;
    const auto all = recorder().start(ring(0, 2 * slabs * record::slab_bytes));
    const auto session = recorder().start(ring(uint64_t(64) << 20, 2 * slabs * record::slab_bytes));
    mark("first");
    for (size_t i = 0; i < 5 * slabs * scopes_per_slab; ++i) mark("more");
    CHECK(has_note(trace::build_trace(recorder().stop(session)), "dropped"));
    CHECK(count(trace::build_trace(recorder().stop(all)), "first") == 1);
}

size_t kept_of_a_held_ring(size_t ring_slabs, size_t memory_slabs, size_t late_slabs) {
    const auto session =
        recorder().start(ring(ring_slabs * record::slab_bytes, memory_slabs * record::slab_bytes));
    for (size_t i = 0; i < 2 * memory_slabs * scopes_per_slab; ++i) mark("in time");
    recorder().hold_ring(session, true);
    for (size_t i = 0; i < late_slabs * scopes_per_slab; ++i) mark("late");
    return count(trace::build_trace(recorder().stop(session)), "in time") / scopes_per_slab;
}

// Half of the limit is for records.
TEST(a_held_ring_lets_go_only_of_what_late_records_need_beyond_all_there_is) {
    CHECK(kept_of_a_held_ring(8, 64, 0) == 7 && kept_of_a_held_ring(8, 64, 23) == 7);
    CHECK(kept_of_a_held_ring(8, 64, 27) >= 3 && kept_of_a_held_ring(32, 64, 27) >= 3);
    CHECK(kept_of_a_held_ring(8, 64, 40) == 0);
}

TEST(a_held_ring_of_seconds_does_not_grow_for_ever) {
    record::SessionOptions options;
    options.all_threads = true;
    options.ring_ns = 3600'000'000'000;
    options.limits = {64 * record::slab_bytes, record::AtLimit::spill, {}};
    const auto session = recorder().start(options);
    for (size_t i = 0; i < 100 * scopes_per_slab; ++i) mark("in time");
    recorder().hold_ring(session, true);
    for (size_t i = 0; i < 400 * scopes_per_slab; ++i) mark("late");
    const trace::Trace trace = trace::build_trace(recorder().stop(session));
    CHECK(trace.size() / scopes_per_slab >= 98 && trace.size() / scopes_per_slab <= 101);
}

TEST(threads_that_have_died_are_forgotten_with_their_records) {
    const auto session = recorder().start(ring(8 * record::slab_bytes, size_t(64) << 20));
    const size_t before = recorder().thread_count();
    constexpr size_t threads = 300;
    for (size_t i = 0; i < threads; ++i) std::thread([] { mark("short-lived"); }).join();
    CHECK(recorder().thread_count() >= before + threads / 2);
    for (size_t i = 0; i < 20 * scopes_per_slab; ++i) mark("later");
    CHECK(recorder().thread_count() <= before + 1);
    const trace::Trace trace = trace::build_trace(recorder().stop(session));
    CHECK(count(trace, "short-lived") == 0 && count(trace, "later") > scopes_per_slab);
}

TEST(what_a_forgotten_thread_has_lost_is_still_told) {
    const auto session = recorder().start(ring(8 * record::slab_bytes, size_t(64) << 20));
    std::thread([] {
        record::ThreadBuffer* thread = record::recording_thread();
        CHECK(thread != nullptr);
        record::end_scope(*thread, record::lane_of(*thread, 1), recorder().intern("never begun"),
                          base::ticks());
    }).join();
    for (size_t i = 0; i < 20 * scopes_per_slab; ++i) mark("later");
    CHECK(has_note(trace::build_trace(recorder().stop(session)), "unbalanced"));
}

CHECK_MAIN
