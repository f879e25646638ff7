// Events of devices belong to a session by their own time, whenever they were told.
#include <cstring>
#include <string_view>
#include <vector>

#include "check.h"
#include "record/recording.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Record;
using record::Window;

namespace {

// Ticks that are nanoseconds of wall time: the clock of a recording that nobody fitted.
std::vector<Record> device_span(uint64_t start_ns, uint64_t end_ns) {
    std::vector<Record> units(2);
    units[0] = {start_ns, end_ns, 1, record::RecordKind::device_span, uint8_t(record::Category::kernel), 0, 0,
                0,        1,      0};
    const record::DevicePlace place{1, {}, 0, 7};
    std::memcpy(static_cast<void*>(&units[1]), &place, sizeof place);
    return units;
}

trace::Trace built(const std::vector<Record>& units, std::vector<Window> windows, bool is_recovered = false,
                   int64_t pid = 4711) {
    record::Recording recording;
    recording.pid = pid;
    recording.window = {windows.front().begin, windows.back().end};
    recording.is_recovered = is_recovered;
    recording.names = [](uint32_t) { return std::string_view("kernel"); };
    record::ThreadRecording thread;
    thread.ranges = {{units.data(), units.data() + units.size(), false}};
    thread.windows = std::move(windows);
    recording.threads.push_back(std::move(thread));
    return trace::build_trace(std::move(recording));
}

bool is_unfinished(const trace::Trace& trace) {
    return (trace.flags[0] & trace::event_unfinished) != 0;
}

}  // namespace

TEST(one_in_the_window_is_there_as_it_was_told) {
    const trace::Trace trace = built(device_span(200, 300), {{100, 1000}});
    CHECK(trace.size() == 1 && trace.start_ns[0] == 200 && trace.end_ns(0) == 300 && !is_unfinished(trace));
}

TEST(one_before_after_or_in_a_pause_is_left_out) {
    const std::vector<Window> windows{{100, 400}, {600, 1000}};
    CHECK(built(device_span(20, 50), windows).size() == 0);
    CHECK(built(device_span(1100, 1200), windows).size() == 0);
    CHECK(built(device_span(450, 550), windows).size() == 0);
}

TEST(one_across_a_pause_is_one_event) {
    const trace::Trace trace = built(device_span(200, 700), {{100, 400}, {600, 1000}});
    CHECK(trace.size() == 1 && trace.start_ns[0] == 200 && trace.end_ns(0) == 700 && !is_unfinished(trace));
}

TEST(one_that_ends_in_a_pause_is_cut_there_and_unfinished) {
    const trace::Trace trace = built(device_span(200, 500), {{100, 400}, {600, 1000}});
    CHECK(trace.size() == 1 && trace.start_ns[0] == 200 && trace.end_ns(0) == 400 && is_unfinished(trace));
}

TEST(one_that_began_before_the_window_is_there_from_its_begin) {
    const trace::Trace trace = built(device_span(20, 500), {{100, 1000}});
    CHECK(trace.size() == 1 && trace.start_ns[0] == 100 && trace.end_ns(0) == 500 && !is_unfinished(trace));
}

TEST(of_a_killed_process_the_device_may_be_ahead) {
    const trace::Trace trace = built(device_span(900, 1500), {{100, 1000}}, true);
    CHECK(trace.size() == 1 && trace.end_ns(0) == 1500 && !is_unfinished(trace));
}

TEST(a_device_has_its_number_unless_the_program_has_that_as_in_a_container) {
    CHECK(built(device_span(200, 300), {{100, 1000}}).processes.at(1).pid == "0");
    const trace::Trace trace = built(device_span(200, 300), {{100, 1000}}, false, 0);
    CHECK(trace.processes.size() == 2);
    CHECK(trace.processes[0].pid == "0" && trace.processes[0].labels == "CPU");
    CHECK(trace.processes[1].pid != "0" && trace.processes[1].labels == "GPU 0");
}

TEST(times_that_make_no_sense_are_left_out) {
    CHECK(built(device_span(uint64_t(-50), uint64_t(-20)), {{100, 1000}}).size() == 0);
    CHECK(built(device_span(uint64_t(-50), 500), {{100, 1000}}).size() == 1);
    const uint64_t too_late = uint64_t(base::latest_ns) + 1;
    CHECK(built(device_span(500, too_late), {{100, 1000}}, true).size() == 0);
    CHECK(built(device_span(too_late, 500), {{100, 1000}}, true).size() == 0);
}

CHECK_MAIN
