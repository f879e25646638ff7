// Pauses of a session that is never stopped: recovery shows what a stop would have shown.
#include "record/session_file.h"
#include "session_files.h"

using namespace kinetograph;
using namespace kinetograph::test;
using record::Recorder;

namespace {

Recorder& recorder() {
    return Recorder::instance();
}

// Another session, of no file, has everything recorded also in the pauses of the first.
record::SessionId record_everything() {
    record::SessionOptions options;
    options.all_threads = true;
    return recorder().start(options);
}

trace::Trace recovered(const Directory& directory) {
    return trace::build_trace(record::recover_session_file(directory.only_file()));
}

bool is_unfinished(const trace::Trace& trace, std::string_view name) {
    return (trace.flags[row_of(trace, name)] & trace::event_unfinished) != 0;
}

}  // namespace

TEST(nothing_of_a_pause_is_recovered) {
    const Directory directory;
    in_child([&] {
        const auto session = recorder().start(in(directory));
        record_everything();
        scope("before");
        recorder().pause(session);
        scope("meanwhile");
        recorder().resume(session);
        scope("after");
    });
    const trace::Trace trace = recovered(directory);
    CHECK(count(trace, "before") == 1 && count(trace, "after") == 1 && count(trace, "meanwhile") == 0);
    CHECK(count(trace, "Recording paused") == 1 && count(trace, "Recording resumed") == 1);
    CHECK(note(trace, "paused").starts_with("recording was paused 1 time, "));
}

TEST(a_scope_that_ended_in_a_pause_is_unfinished_at_its_begin) {
    const Directory directory;
    in_child([&] {
        const auto session = recorder().start(in(directory));
        begin("cut");
        recorder().pause(session);
        end("cut");
        recorder().resume(session);
        scope("after");
    });
    const trace::Trace trace = recovered(directory);
    CHECK(count(trace, "cut") == 1 && is_unfinished(trace, "cut"));
    CHECK(trace.end_ns(row_of(trace, "cut")) == trace.start_ns[row_of(trace, "Recording paused")]);
    CHECK(note(trace, "recovered").ends_with("; 0 scopes were open"));
}

TEST(a_scope_across_pauses_is_one_event_whether_it_ended_or_not) {
    const Directory directory;
    in_child([&] {
        const auto session = recorder().start(in(directory));
        begin("open");
        begin("ended");
        for (int i = 0; i < 3; ++i) {
            recorder().pause(session);
            recorder().resume(session);
        }
        end("ended");
    });
    const trace::Trace trace = recovered(directory);
    CHECK(count(trace, "ended") == 1 && !is_unfinished(trace, "ended"));
    CHECK(count(trace, "open") == 1 && is_unfinished(trace, "open"));
}

TEST(a_process_killed_in_a_pause_has_what_came_before) {
    const Directory directory;
    in_child([&] {
        const auto session = recorder().start(in(directory));
        record_everything();
        begin("open");
        recorder().pause(session);
        scope("meanwhile");
    });
    const trace::Trace trace = recovered(directory);
    CHECK(count(trace, "open") == 1 && is_unfinished(trace, "open") && count(trace, "meanwhile") == 0);
    CHECK(trace.end_ns(row_of(trace, "open")) == trace.start_ns[row_of(trace, "Recording paused")]);
}

TEST(a_session_that_starts_paused_begins_with_its_first_resume) {
    const Directory directory;
    in_child([&] {
        record::SessionOptions options = in(directory);
        options.starts_paused = true;
        const auto session = recorder().start(options);
        record_everything();
        scope("warm-up");
        recorder().resume(session);
        scope("recorded");
    });
    const trace::Trace trace = recovered(directory);
    CHECK(count(trace, "recorded") == 1 && count(trace, "warm-up") == 0 && trace.size() == 1);
    CHECK(note(trace, "paused").empty());
}

CHECK_MAIN
