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
