// Events for which the clock has one time, of which the order of their records says who enclosed whom.
#include <string_view>
#include <vector>

#include "check.h"
#include "record/recording.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Record;
using record::RecordKind;
using trace::EventKind;

namespace {

// Ticks that are nanoseconds of wall time: the clock of a recording that nobody fitted.
Record recorded(RecordKind kind, uint64_t start, uint64_t end) {
    return {start, end, 1, kind, uint8_t(record::Category::user_annotation), 0, 0, 0, 0, 0};
}

Record span(uint64_t start, uint64_t end) {
    return recorded(RecordKind::span, start, end);
}

Record instant(uint64_t at) {
    return recorded(RecordKind::instant, at, at);
}

// In the order in which they ended.
trace::Trace built(const std::vector<Record>& records) {
    record::Recording recording;
    recording.pid = 4711;
    recording.window = {100, 1000};
    recording.names = [](uint32_t) { return std::string_view("name"); };
    record::ThreadRecording thread;
    thread.ranges = {{records.data(), records.data() + records.size(), false}};
    thread.windows = {recording.window};
    recording.threads.push_back(std::move(thread));
    return trace::build_trace(std::move(recording));
}

}  // namespace

TEST(a_mark_at_the_end_of_a_scope_lies_in_it_if_it_was_recorded_before) {
    const trace::Trace trace = built({instant(300), span(200, 300)});
    CHECK(trace::nest(trace).parent[1] == 0);
    CHECK(trace.start_ns[1] == 299 && trace.duration_ns[1] == 0 && trace.end_ns(0) == 300);
}

TEST(one_recorded_behind_it_does_not) {
    const trace::Trace trace = built({span(200, 300), instant(300)});
    CHECK(trace::nest(trace).parent[1] == -1 && trace.start_ns[1] == 300);
}

TEST(scopes_of_no_length_lie_in_the_one_whose_end_they_share) {
    const trace::Trace trace = built({span(300, 300), span(300, 300), span(250, 300), span(200, 300)});
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.parent[0] == -1 && nesting.parent[1] == 0);
    CHECK(nesting.parent[2] > 0 && nesting.parent[3] > 0);
    CHECK(trace.start_ns[3] == 299 && trace.end_ns(3) == 300);
}

TEST(a_moment_within_a_scope_stays_where_it_was) {
    const trace::Trace trace = built({instant(299), span(200, 300), span(300, 300)});
    CHECK(trace.start_ns[1] == 299 && trace.start_ns[2] == 300 && trace.duration_ns[2] == 0);
    CHECK(trace::nest(trace).parent[2] == -1);
}

TEST(one_that_was_recorded_late_moves_nothing_that_has_a_length) {
    const trace::Trace trace = built({span(300, 400), span(200, 300)});
    CHECK(trace.start_ns[1] == 300 && trace.end_ns(1) == 400);
}

CHECK_MAIN
