// No memory for the recorder's own lists: events are lost and counted, the program goes on.
#include <string>
#include <thread>

#include "check.h"
#include "kinetograph/record_abi.h"
#include "no_memory.h"
#include "record/recorder.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;

namespace {

constexpr int scopes = 3'000, tasks = 8, depth = 60;

// Takes every slow path: a new thread, extents, lanes, a stack that grows, a name, a thread that ends.
void record_all() {
    const kinetograph_record_table* table = kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    char name[] = "thread with a long name 0123456789";
    table->name_thread(name, sizeof name - 1);
    const uint32_t id = table->intern(name, sizeof name - 1);
    for (int i = 0; i < scopes; ++i) {
        table->begin(id, 1, 7);
        table->end(id);
    }
    for (int i = 0; i < depth; ++i) table->begin(id, 1, 7);
    for (int i = 0; i < depth; ++i) table->end(id);
    for (int step = 0; step < 2 * tasks; ++step) {
        record::ThreadBuffer* thread = record::recording_thread();
        if (!thread) continue;
        record::Lane& lane = record::lane_of(*thread, uintptr_t(1 + step % tasks));
        if (step < tasks)
            record::begin_scope(*thread, lane, id, 0);
        else
            record::end_scope(*thread, lane, id, base::ticks());
    }
}

trace::Trace record_with_memory_for(int allocations) {
    record::SessionOptions options;
    options.all_threads = true;
    const auto session = Recorder::instance().start(options);
    std::thread([&] {
        const NoMemoryAfter limit(allocations);
        record_all();
    }).join();
    return trace::build_trace(Recorder::instance().stop(session));
}

bool tells_a_loss(const trace::Trace& trace) {
    for (const trace::Note& note : trace.notes)
        if (note.kind == "dropped" || note.kind == "too_deep" || note.kind == "unbalanced") return true;
    return false;
}

}  // namespace

TEST(with_all_memory_nothing_is_lost) {
    const trace::Trace trace = record_with_memory_for(-1);
    CHECK(trace.size() == scopes + depth + tasks);
    CHECK(!tells_a_loss(trace));
}

TEST(wherever_memory_ends_the_program_goes_on_and_losses_are_told) {
    bool was_lost = false, was_whole = false;
    for (int allocations = 0; allocations < 100; ++allocations) {
        const trace::Trace trace = record_with_memory_for(allocations);
        const bool is_whole = trace.size() == scopes + depth + tasks;
        CHECK(is_whole || tells_a_loss(trace));
        was_lost |= !is_whole;
        was_whole |= is_whole;
    }
    CHECK(was_lost && was_whole);
}

TEST(a_session_that_cannot_start_leaves_nothing_behind) {
    record::SessionOptions options;
    options.all_threads = true;
    for (int allocations = 0; allocations < 30; ++allocations) {
        record::SessionId session = 0;
        try {
            const NoMemoryAfter limit(allocations);
            session = Recorder::instance().start(options);
        } catch (const std::bad_alloc&) {
        }
        CHECK(Recorder::instance().sessions().size() == (session != 0));
        if (session != 0) Recorder::instance().stop(session);
        CHECK((record::active.load() & record::active_sessions) == 0);
    }
}

TEST(a_session_that_cannot_stop_goes_on_and_can_be_stopped_again) {
    record::SessionOptions options;
    options.all_threads = true;
    bool has_failed = false;
    for (int allocations = 0; allocations < 30; ++allocations) {
        const auto session = Recorder::instance().start(options);
        record_all();
        try {
            const NoMemoryAfter limit(allocations);
            Recorder::instance().stop(session);
        } catch (const std::bad_alloc&) {
            has_failed = true;
            CHECK(Recorder::instance().is_running(session));
            CHECK(trace::build_trace(Recorder::instance().stop(session)).size() == scopes + depth + tasks);
        }
        CHECK((record::active.load() & record::active_sessions) == 0);
    }
    CHECK(has_failed);
}

TEST(the_recorder_is_whole_afterwards) {
    CHECK(record_with_memory_for(-1).size() == scopes + depth + tasks);
}

CHECK_MAIN
