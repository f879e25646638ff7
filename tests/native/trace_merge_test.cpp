// Many traces become one: nothing is lost, nothing is confused.
#include "trace/merge.h"

#include <string>

#include "check.h"
#include "traces.h"

using namespace kinetograph;
using test::add;
using test::trace_of;
using trace::Merger;
using trace::Trace;

namespace {

Trace of_process(const std::string& pid, int64_t start_ns, int64_t end_ns) {
    Trace trace;
    trace.processes.push_back({pid, "python", "CPU", pid});
    trace.tracks.push_back({0, pid, "thread " + pid, pid});
    trace.window_start_ns = start_ns;
    trace.window_end_ns = end_ns;
    add(trace, {"work", start_ns, end_ns});
    return trace;
}

void add_device(Trace& trace) {
    trace.processes.push_back({"0", "python", "GPU 0", "5000000"});
    trace::Track stream{uint32_t(trace.processes.size() - 1), "7", "stream 7 ", "7"};
    stream.device_type = 1;
    stream.device_index = 0;
    trace.tracks.push_back(stream);
}

// A launch on the host and its kernel, joined by this id.
Trace with_kernel(const std::string& pid, int64_t correlation) {
    Trace trace = of_process(pid, 100, 200);
    add_device(trace);
    add(trace, {"kernel", 150, 160, 1, trace::Category::kernel});
    trace.correlation.push_back(correlation);
    trace.correlation.push_back(correlation);
    return trace;
}

Trace merged(std::initializer_list<const Trace*> sources, const std::string& host = "here") {
    Merger merger;
    for (const Trace* source : sources) merger.append(*source, {"process " + source->processes[0].pid, host});
    return merger.finish();
}

std::string_view name_of(const Trace& trace, size_t row) {
    return trace.strings[trace.name[row]];
}

}  // namespace

TEST(processes_stand_side_by_side_and_rows_stay_in_order) {
    const Trace a = of_process("10", 100, 200), b = of_process("20", 50, 300);
    Trace both = merged({&a, &b});
    CHECK(both.size() == 2 && both.processes.size() == 2 && both.tracks.size() == 2);
    CHECK(both.tracks[1].process == 1 && both.processes[1].pid == "20");
    CHECK(both.track[0] == 0 && both.track[1] == 1);
    CHECK(both.start_ns[1] == 50 && both.duration_ns[1] == 250);
    CHECK(both.window_start_ns == 50 && both.window_end_ns == 300);
    CHECK(both.name[0] == both.name[1]);
}

TEST(a_process_that_executed_another_program_keeps_its_pid) {
    Trace a = of_process("10", 100, 200), b = of_process("10", 201, 300);
    b.processes[0].name = "python other.py";
    const Trace both = merged({&a, &b});
    CHECK(both.processes.size() == 1 && both.processes[0].name == "python, then python other.py");
    CHECK(both.tracks.size() == 2 && both.tracks[0].tid == "10" && both.tracks[1].tid != "10");
    CHECK(both.tracks[1].process == 0 && both.tracks[1].sort_index == "10");
}

TEST(processes_of_two_hosts_with_one_pid_are_told_apart) {
    const Trace a = of_process("10", 100, 200), b = of_process("10", 300, 400);
    Merger merger;
    merger.append(a, {"rank 0", "first"});
    merger.append(b, {"rank 1", "second"});
    const Trace both = merger.finish();
    CHECK(both.processes.size() == 2 && both.processes[0].pid == "10" && both.processes[1].pid != "10");
    CHECK(both.processes[1].labels == "CPU (pid 10 of rank 1)");
    CHECK(both.tracks[1].tid == "10");
}

TEST(processes_that_ran_at_the_same_time_are_two_even_on_one_host) {
    const Trace a = of_process("10", 100, 200), b = of_process("10", 150, 400);
    CHECK(merged({&a, &b}).processes.size() == 2);
}

TEST(devices_of_two_processes_and_their_correlation_ids_are_told_apart) {
    const Trace a = with_kernel("10", 5), b = with_kernel("20", 5);
    const Trace both = merged({&a, &b});
    CHECK(both.processes.size() == 4 && both.processes[1].pid == "0" && both.processes[3].pid != "0");
    CHECK(both.processes[1].labels == "GPU 0 (process 10)");
    CHECK(both.processes[3].labels == "GPU 0 (process 20)");
    CHECK(both.correlation[0] == 5 && both.correlation[1] == 5);
    CHECK(both.correlation[2] == 10 && both.correlation[3] == 10);
}

TEST(links_sequences_lanes_and_arguments_point_to_their_own_events) {
    Trace a = of_process("10", 100, 200), b = of_process("20", 100, 200);
    trace::Track lane{0, "900", "lane", "20"};
    lane.parent = 0;
    b.tracks.push_back(lane);
    add(b, {"inside", 110, 120, 1});
    a.sequence.push_back(3);
    b.sequence.push_back(0);
    b.sequence.push_back(-1);
    b.link.push_back(-1);
    b.link.push_back(0);
    const std::string text = "\"value\":7";
    b.args.push_back({});
    b.args.push_back({0, text.size()});
    b.args_text.append(text.data(), text.size());
    const Trace both = merged({&a, &b});
    CHECK(name_of(both, 2) == "inside" && both.tracks[2].parent == 1);
    CHECK(both.sequence[0] == 3 && both.sequence[1] == 4 && both.sequence[2] == -1);
    CHECK(both.link[0] == -1 && both.link[1] == -1 && both.link[2] == 1);
    CHECK(both.args_of(0).empty() && both.args_of(2) == text);
}

TEST(an_optional_column_of_the_first_trace_is_filled_up_for_the_second) {
    const Trace a = with_kernel("10", 5), b = of_process("20", 100, 200);
    const Trace both = merged({&a, &b});
    CHECK(both.correlation.size() == both.size() && both.correlation[2] == 0);
}

TEST(notes_say_whose_they_are_and_are_told_once) {
    Trace a = of_process("10", 100, 200), b = of_process("20", 100, 200);
    a.notes = {{"clock", "within 7 ns"}, {"dropped", "3 events"}};
    b.notes = {{"clock", "within 12 ns"}};
    const Trace both = merged({&a, &b});
    CHECK(both.notes.size() == 2);
    CHECK(both.notes[0].text == "2 times, first for process 10: within 7 ns");
    CHECK(both.notes[1].text == "process 10: 3 events");
}

TEST(what_stands_once_in_a_file_is_that_of_the_first) {
    Trace a = of_process("10", 100, 200), b = of_process("20", 100, 200);
    a.metadata = {{"trace_id", "\"A\""}};
    b.metadata = {{"trace_id", "\"B\""}, {"only", "1"}};
    a.device_properties = "[{\"id\":0}]";
    b.device_properties = "[{\"id\":1}]";
    const Trace both = merged({&a, &b});
    CHECK(both.metadata.size() == 2 && both.metadata[0].second == "\"A\"");
    CHECK(both.device_properties == "[{\"id\":0},{\"id\":1}]");
}

TEST(one_trace_comes_back_as_it_was_and_none_is_empty) {
    Trace a = with_kernel("10", 5);
    a.notes = {{"clock", "within 7 ns"}};
    CHECK(test::written(merged({&a})) == test::written(a));
    CHECK(merged({}).size() == 0);
}

TEST(columns_in_files_merge_like_columns_in_memory) {
    constexpr size_t rows = 3 * trace::rows_between_drops / 2;
    Trace large(trace::Storage{"/tmp"});
    for (size_t i = 0; i < rows; ++i)
        add(large, {i % 2 ? "odd" : "even", int64_t(2 * i), int64_t(2 * i + 1)});
    const Trace small = of_process("20", 100, 200);
    Merger merger(trace::Storage{"/tmp"});
    merger.append(small, {"process 20", ""});
    merger.append(large, {"process 1", ""});
    merger.append(large, {"process 1 again", ""});
    const Trace all = merger.finish();
    CHECK(all.size() == 2 * rows + 1 && all.start_ns.in_file());
    bool is_equal = true;
    for (size_t i = 0; i < 2 * rows; ++i) {
        is_equal &= all.start_ns[i + 1] == int64_t(2 * (i % rows));
        is_equal &= name_of(all, i + 1) == (i % rows % 2 ? "odd" : "even");
    }
    CHECK(is_equal);
}

CHECK_MAIN
