// What one process recorded in several windows becomes one trace, on the same tracks.
#include "trace/join.h"

#include <string>

#include "check.h"
#include "traces.h"

using namespace kinetograph;
using test::add;
using trace::Joiner;
using trace::Trace;

namespace {

trace::Track track(uint32_t process, const std::string& tid, int32_t parent = -1) {
    trace::Track made{process, tid, "track " + tid, ""};
    made.parent = parent;
    return made;
}

// A thread with a lane, and a stream of a device that has worked for it.
Trace cycle(int64_t start_ns, bool has_other_thread = false) {
    Trace trace;
    trace.processes.push_back({"10", "python", "CPU", ""});
    trace.processes.push_back({"0", "python", "GPU 0", ""});
    if (has_other_thread) trace.tracks.push_back(track(0, "12"));
    const auto thread = uint32_t(trace.tracks.size());
    trace.tracks.push_back(track(0, "11"));
    trace.tracks.push_back(track(0, "1000", int32_t(thread)));
    trace.tracks.push_back(track(1, "7"));
    trace.tracks.back().device_type = 1;
    trace.window_start_ns = start_ns;
    trace.window_end_ns = start_ns + 100;
    add(trace, {"launch", start_ns, start_ns + 10, thread});
    add(trace, {"task", start_ns, start_ns + 10, thread + 1});
    add(trace, {"kernel", start_ns + 20, start_ns + 30, thread + 2, trace::Category::kernel});
    for (const int32_t link : {-1, -1, 0}) trace.link.push_back(link);
    trace.notes.push_back({"clock", "times are within 64 ns"});
    return trace;
}

Trace joined(std::initializer_list<const Trace*> sources) {
    Joiner joiner;
    for (const Trace* source : sources) joiner.append(*source);
    return joiner.finish();
}

}  // namespace

TEST(threads_lanes_and_devices_are_the_same_in_all_cycles) {
    const Trace first = cycle(1000), second = cycle(2000, true);
    Trace both = joined({&first, &second});
    CHECK(both.processes.size() == 2);
    CHECK(both.processes[0].pid == "10" && both.processes[1].pid == "0");
    CHECK(both.processes[1].labels == "GPU 0");
    CHECK(both.tracks.size() == 4);
    const std::string tids[] = {"11", "1000", "7", "12"};
    for (size_t i = 0; i < 4; ++i) CHECK(both.tracks[i].tid == tids[i]);
    CHECK(both.tracks[1].parent == 0 && both.tracks[3].parent == -1);
    CHECK(both.tracks[2].process == 1 && both.tracks[2].device_type == 1);
}

TEST(rows_are_in_order_and_links_lead_to_the_same_events) {
    const Trace first = cycle(1000), second = cycle(2000, true);
    Trace both = joined({&first, &second});
    CHECK(both.size() == 6);
    const int64_t starts[] = {1000, 2000, 1000, 2000, 1020, 2020};
    const int32_t links[] = {-1, -1, -1, -1, 0, 1};
    for (size_t row = 0; row < 6; ++row) {
        CHECK(both.start_ns[row] == starts[row] && both.link[row] == links[row]);
        CHECK(both.track[row] == row / 2);
    }
}

TEST(the_window_spans_all_cycles_and_equal_notes_are_told_once) {
    const Trace first = cycle(1000), second = cycle(2000);
    Trace both = joined({&first, &second});
    CHECK(both.window_start_ns == 1000 && both.window_end_ns == 2100);
    CHECK(both.notes.size() == 1);
    CHECK(both.notes[0].text == "2 times, first for cycle 1: times are within 64 ns");
}

CHECK_MAIN
