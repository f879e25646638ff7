#include "check.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;
using trace::Category;
using trace::EventKind;

namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

std::string name_of(const trace::Trace& trace, size_t row) {
    return std::string(trace.strings[trace.name[row]]);
}

// A launch on the host and its kernel, linked to the operator around it.
trace::Trace gpu_trace() {
    trace::Trace trace = trace_of({{"aten::mm", 1000, 9000, 0, Category::cpu_op},
                                   {"cudaLaunchKernel", 2000, 3000, 0, Category::cuda_runtime},
                                   {"gemm", 5000, 8000, 1, Category::kernel}});
    trace.tracks[1].device_type = 1;
    trace.tracks[1].device_index = 0;
    for (const int64_t correlation : {0, 77, 77}) trace.correlation.push_back(correlation);
    for (const int32_t link : {-1, 0, 0}) trace.link.push_back(link);
    set_args(trace, 2, R"("stream":7,"grid":[1,1,1])");
    return trace;
}

void check_same_bytes_again(const trace::Trace& trace) {
    const std::string text = written(trace);
    CHECK(written(read(text)) == text);
}

}  // namespace

TEST(a_span_is_written_as_kineto_writes_it) {
    trace::Trace trace = trace_of({{"step", 1234567, 2345678}});
    CHECK(contains(
        written(trace),
        R"({"ph":"X","cat":"user_annotation","name":"step","pid":1,"tid":1,"ts":1234.567,"dur":1111.111,)"
        R"("args":{"External id":1,"Record function id":0,"Ev Idx":0}})"));
}

TEST(keys_stand_in_kinetos_order) {
    trace::Trace trace = trace_of({{"step", 1, 2}});
    trace.metadata.emplace_back("trace_id", "\"AB\"");
    const std::string text = written(trace);
    size_t last = 0;
    for (const char* key : {"schemaVersion", "deviceProperties", "trace_id", "displayTimeUnit",
                            "baseTimeNanoseconds", "traceEvents", "traceName"}) {
        const size_t at = text.find("\"" + std::string(key) + "\":");
        CHECK(at != text.npos && at > last);
        last = at;
    }
}

TEST(times_count_from_the_three_month_grid) {
    constexpr int64_t now = 1'763'180'000'000'000'123;
    const trace::Trace trace = trace_of({{"step", now, now + 1}});
    const std::string text = written(trace);
    CHECK(contains(text, "\"baseTimeNanoseconds\":1759300074000000000"));
    CHECK(contains(text, "\"ts\":3879926000000.123"));
    CHECK(read(text).start_ns[0] == now);
}

TEST(the_rank_has_the_space_that_hta_wants) {
    trace::Trace trace = trace_of({{"step", 1, 2}});
    trace.metadata.emplace_back("distributedInfo", R"({"backend":"{\"rank\":","rank":3,"ranks":[1]})");
    const std::string text = written(trace);
    CHECK(contains(text, R"("{\"rank\":","rank": 3,"ranks":[1])"));
    CHECK(read(text).metadata[0].second == trace.metadata[0].second);
    check_same_bytes_again(trace);
}

TEST(launches_and_kernels_are_joined_by_flows_and_ids) {
    const std::string text = written(gpu_trace());
    CHECK(contains(text, R"({"ph":"s","id":77,"pid":1,"tid":1,"ts":2.000,"cat":"ac2g","name":"ac2g"})"));
    CHECK(contains(text,
                   R"({"ph":"f","id":77,"pid":1,"tid":2,"ts":5.000,"cat":"ac2g","name":"ac2g","bp":"e"})"));
    CHECK(contains(text, R"("args":{"External id":1,"correlation":77,"stream":7,"grid":[1,1,1]})"));
    const trace::Trace again = read(text);
    CHECK(again.link[1] == 0 && again.link[2] == 0 && again.link[0] == -1);
    CHECK(again.correlation[2] == 77);
    CHECK(again.args_of(2) == R"("stream":7,"grid":[1,1,1])");
    CHECK(again.tracks[1].device_type == 1 && again.tracks[1].device_index == 0);
    check_same_bytes_again(gpu_trace());
}

TEST(a_launch_without_device_work_starts_no_flow) {
    trace::Trace trace = gpu_trace();
    trace.correlation[2] = 78;
    CHECK(!contains(written(trace), "ac2g"));
}

TEST(forward_and_backward_operators_are_joined_by_their_number) {
    trace::Trace trace = trace_of({{"linear", 1000, 5000, 0, Category::cpu_op},
                                   {"addmm", 2000, 4000, 0, Category::cpu_op},
                                   {"AddmmBackward0", 9000, 9500, 1, Category::cpu_op}});
    for (int i = 0; i < 3; ++i) trace.sequence.push_back(12);
    set_args(trace, 2, "\"Fwd thread id\":1");
    const std::string text = written(trace);
    CHECK(contains(text, R"({"ph":"s","id":1,"pid":1,"tid":1,"ts":2.000,"cat":"fwdbwd","name":"fwdbwd"})"));
    CHECK(contains(
        text, R"({"ph":"f","id":1,"pid":1,"tid":2,"ts":9.000,"cat":"fwdbwd","name":"fwdbwd","bp":"e"})"));
    check_same_bytes_again(trace);
}

TEST(arrows_stay_within_the_thread_that_counted_and_within_the_process) {
    trace::Trace trace = trace_of({{"sin", 1000, 2000, 0, Category::cpu_op},
                                   {"cos", 3000, 4000, 1, Category::cpu_op},
                                   {"SinBackward0", 8000, 8500, 1, Category::cpu_op},
                                   {"CosBackward0", 9000, 9500, 1, Category::cpu_op},
                                   {"of no thread that is here", 9600, 9700, 1, Category::cpu_op},
                                   {"in another process", 5000, 6000, 2, Category::cpu_op}});
    for (size_t row = 0; row < trace.size(); ++row) trace.sequence.push_back(0);
    trace.processes.push_back({"2", "other", "CPU", "2"});
    trace.tracks[2].process = 1;
    trace.tracks[0].framework_thread = 7;
    trace.tracks[1].framework_thread = 8;
    for (const size_t row : {2, 3, 4}) set_args(trace, row, "\"Fwd thread id\":" + std::to_string(row + 5));
    const std::string text = written(trace);
    for (const char* start : {R"("id":1,"pid":1,"tid":1,"ts":1.000,"cat":"fwdbwd")",
                              R"("id":2,"pid":1,"tid":2,"ts":3.000,"cat":"fwdbwd")"})
        CHECK(contains(text, std::string(R"({"ph":"s",)") + start));
    for (const char* end : {R"("id":1,"pid":1,"tid":2,"ts":8.000,"cat":"fwdbwd")",
                            R"("id":2,"pid":1,"tid":2,"ts":9.000,"cat":"fwdbwd")"})
        CHECK(contains(text, std::string(R"({"ph":"f",)") + end));
    CHECK(!contains(text, R"("id":3)"));
    CHECK(read(text).tracks[1].framework_thread == 8);
    check_same_bytes_again(trace);
}

TEST(python_functions_get_ids_of_their_parents) {
    const trace::Trace trace = trace_of({{"a.py(1): f", 0, 9000, 0, Category::python_function},
                                         {"scope", 1000, 8000},
                                         {"a.py(2): g", 2000, 3000, 0, Category::python_function}});
    const std::string text = written(trace);
    CHECK(contains(text, R"("Python id":1,"Python parent id":null)"));
    CHECK(contains(text, R"("Python id":2,"Python parent id":1)"));
    check_same_bytes_again(trace);
}

TEST(crossing_spans_go_to_lanes_and_come_back_to_their_track) {
    const trace::Trace trace =
        trace_of({{"a", 0, 10000}, {"b", 5000, 15000}, {"c", 7000, 17000}, {"d", 20000, 21000}});
    const std::string text = written(trace);
    CHECK(contains(text, R"("tid":1500000000,"args":{"name":" lane 1","lane_of":1})"));
    CHECK(contains(text, R"("name":"c","pid":1,"tid":1500000001)"));
    CHECK(contains(text, R"("name":"d","pid":1,"tid":1,)"));
    const trace::Trace again = read(text);
    CHECK(again.tracks.size() == 1);
    for (size_t row = 0; row < again.size(); ++row) CHECK(again.track[row] == 0);
    check_same_bytes_again(trace);
}

TEST(a_lane_takes_no_tid_that_is_there) {
    trace::Trace trace = trace_of({{"a", 0, 10}, {"b", 5, 15}, {"x", 1, 2, 1}});
    trace.tracks[1].tid = "1500000000";
    CHECK(contains(written(trace), R"("tid":1500000001,"args":{"name":" lane 1")"));
    check_same_bytes_again(trace);
}

TEST(instants_counters_and_memory_keep_their_kind) {
    trace::Trace trace =
        trace_of({{"mark", 1000, 1000, 0, Category::user_annotation, EventKind::instant},
                  {"loss", 2000, 2000, 0, Category::counter, EventKind::counter},
                  {"[memory]", 3000, 3000, 0, Category::cpu_instant_event, EventKind::memory}});
    set_args(trace, 1, "\"value\":2.5");
    set_args(trace, 2, "\"Addr\":1,\"Bytes\":-4");
    const std::string text = written(trace);
    CHECK(contains(text,
                   R"({"ph":"i","s":"t","cat":"user_annotation","name":"mark","pid":1,"tid":1,"ts":1.000})"));
    CHECK(contains(
        text, R"({"ph":"C","cat":"counter","name":"loss","pid":1,"tid":1,"ts":2.000,"args":{"value":2.5}})"));
    const trace::Trace again = read(text);
    for (size_t row = 0; row < 3; ++row) CHECK(again.kind[row] == trace.kind[row]);
    check_same_bytes_again(trace);
}

TEST(flags_scopes_notes_names_and_window_survive) {
    trace::Trace trace = trace_of({{"open", 1000, 9000}, {"x", 2000, 3000, 1}});
    trace.flags[0] = trace::event_unfinished | trace::event_async;
    trace.scope[1] = 1;
    trace.notes.push_back({"dropped", "3 \"events\"\n"});
    trace.processes[0] = {"1", "py\xC3\xA9", "CPU", "12"};
    trace.tracks[0].name = "thread 1 (main)";
    trace.tracks[1].parent = 0;
    trace.tracks[1].sort_index = "1";
    trace.window_start_ns = 500;
    trace.window_end_ns = 9500;
    trace.device_properties = R"([{"id":0}])";
    const std::string text = written(trace);
    CHECK(contains(text, "\"finished\":false"));
    const trace::Trace again = read(text);
    CHECK(again.flags[0] == trace.flags[0] && again.scope[1] == 1);
    CHECK(again.notes.size() == 1 && again.notes[0].text == trace.notes[0].text);
    CHECK(again.processes[0].name == trace.processes[0].name && again.processes[0].sort_index == "12");
    CHECK(again.tracks[1].parent == 0 && again.tracks[0].name == "thread 1 (main)");
    CHECK(again.window_start_ns == 500 && again.window_end_ns == 9500);
    CHECK(again.device_properties == trace.device_properties);
    check_same_bytes_again(trace);
}

TEST(an_overload_stands_behind_the_name_in_the_file_only) {
    trace::Trace trace = trace_of({{"aten::add", 10, 20, 0, Category::cpu_op},
                                   {"aten::sum", 30, 40, 0, Category::cpu_op},
                                   {"a.b", 50, 60, 0, Category::cpu_op}});
    set_args(trace, 0, R"("Overload name":"Tensor")");
    set_args(trace, 2, R"("Overload name":"b\\n")");
    const std::string text = written(trace);
    CHECK(contains(text, R"("name":"aten::add.Tensor")"));
    CHECK(contains(text, R"("name":"aten::sum")") && contains(text, R"("name":"a.b")"));
    check_same_bytes_again(trace);
    const trace::Trace again = read(text);
    CHECK(name_of(again, 0) == "aten::add" && name_of(again, 1) == "aten::sum" && name_of(again, 2) == "a.b");
    const trace::Trace others =
        read(R"([{"ph":"X","name":"aten::add.Tensor","ts":1,"dur":2},)"
             R"({"ph":"X","name":"aten::add","ts":4,"dur":2,"args":{"Overload name":"Tensor"}},)"
             R"({"ph":"X","name":"a.b\\n","ts":7,"dur":2,"args":{"Overload name":"b\\n"}}])");
    CHECK(name_of(others, 0) == "aten::add.Tensor" && name_of(others, 1) == "aten::add");
    CHECK(name_of(others, 2) == "a.b\\n");
}

TEST(overloads_that_others_spell_in_their_way_are_not_put_behind_the_name_again) {
    const char* spans[] = {
        R"({"ph":"X","name":"op.a","ts":1,"dur":2,"args":{"Overload name":"a","Overload name":"b"}})",
        R"({"ph":"X","name":"op.b","ts":1,"dur":2,"args":{"Overload name":"a","Overload name":"b"}})",
        R"({"ph":"X","name":"op.b","ts":1,"dur":2,"args":{"Overload name":7,"Overload name":"b"}})",
        R"({"ph":"X","name":"op.a","ts":1,"dur":2,"args":{"Overload\u0020name":"a"}})",
        R"({"ph":"B","name":"op.a","ts":1,"args":{"Overload name":"a"}},{"ph":"E","ts":4})",
        R"({"args":{"Overload name":"a"},"ph":"X","name":"op\u002ea","ts":1,"dur":2})",
        R"({"ph":"X","name":"\"op.\u00e9","ts":1,"dur":2,"args":{"Overload name":"é"}})",
        R"({"ph":"X","name":".a","ts":1,"dur":2,"args":{"Overload name":"a"}})"};
    for (const std::string span : spans) {
        const trace::Trace once = read('[' + span + ']');
        const std::string text = written(once);
        CHECK(once.size() == 1 && name_of(read(text), 0) == name_of(once, 0));
        CHECK(!contains(text, ".a.a") && !contains(text, ".é.é"));
    }
    CHECK(name_of(read('[' + std::string(spans[4]) + ']'), 0) == "op");
}

TEST(names_of_any_bytes_give_a_file_that_can_be_read) {
    std::string every_byte;
    for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
    const trace::Trace trace = trace_of({{every_byte, 1, 2}, {std::string(3 << 20, 'x'), 3, 4}});
    const std::string text = written(trace);
    CHECK(name_of(read(text), 0).substr(0, 128) == every_byte.substr(0, 128));
    CHECK(name_of(read(text), 1).size() == 3 << 20);
    check_same_bytes_again(trace);
}

TEST(pieces_may_break_anywhere) {
    trace::Trace trace = gpu_trace();
    trace.notes.push_back({"clock", "\xE2\x82\xAC"});
    const std::string text = "\xEF\xBB\xBF" + written(trace);
    for (const size_t piece : {1, 2, 3, 7, 16, 1000})
        CHECK("\xEF\xBB\xBF" + written(read(text, piece)) == text);
}

TEST(keys_may_come_in_any_order_and_layout) {
    const trace::Trace trace = read(R"( {
      "traceEvents" : [
        { "args" : { "External id" : 9 , "a" : [ 1 , 2 ] , "correlation" : 5 } , "dur" : 1.5 , "ts" : 2 ,
          "tid" : "worker \u0031" , "pid" : 3 , "name" : "x" , "cat" : "cpu_op" , "ph" : "X" }
      ] ,
      "baseTimeNanoseconds" : 1000000 , "mine" : { "b" : [ true , null ] }
    } )");
    CHECK(trace.size() == 1);
    CHECK(trace.start_ns[0] == 1002000 && trace.duration_ns[0] == 1500);
    CHECK(trace.args_of(0) == "\"a\":[1,2]");
    CHECK(trace.correlation[0] == 5);
    CHECK(trace.tracks[0].tid == "\"worker 1\"");
    CHECK(trace.metadata[0].second == R"({"b":[true,null]})");
}

TEST(an_array_of_events_is_a_trace) {
    CHECK(read(R"([{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}])").size() == 1);
    CHECK(read("[]").size() == 0);
}

TEST(begins_and_ends_become_spans) {
    const trace::Trace trace = read(R"([
      {"ph":"B","name":"outer","ts":1,"pid":1,"tid":1,"args":{"a":1}},
      {"ph":"B","name":"inner","ts":2,"pid":1,"tid":1},
      {"ph":"E","ts":3,"pid":1,"tid":1},
      {"ph":"E","ts":5,"pid":1,"tid":1,"args":{"b":2}},
      {"ph":"E","ts":6,"pid":1,"tid":1},
      {"ph":"B","name":"open","ts":7,"pid":1,"tid":1},
      {"ph":"i","name":"last","ts":9,"pid":1,"tid":1}])");
    CHECK(trace.duration_ns[0] == 4000 && trace.duration_ns[1] == 1000);
    CHECK(trace.args_of(0) == "\"a\":1,\"b\":2");
    CHECK(trace.duration_ns[2] == 2000 && trace.flags[2] == trace::event_unfinished);
    CHECK(trace.notes.size() == 1);
}

TEST(begins_and_ends_may_come_in_any_order) {
    const trace::Trace trace = read(R"([
      {"ph":"B","name":"first","ts":0,"pid":1,"tid":1},
      {"ph":"B","name":"later","ts":20,"pid":1,"tid":1,"args":{"a":1}},
      {"ph":"B","name":"elsewhere","ts":5,"pid":1,"tid":2},
      {"ph":"E","name":"first","ts":10,"pid":1,"tid":1,"args":{"b":2}},
      {"ph":"E","name":"elsewhere","ts":7,"pid":1,"tid":2},
      {"ph":"E","name":"later","ts":30,"pid":1,"tid":1,"args":{"c":3}}])");
    CHECK(name_of(trace, 0) == "first" && trace.duration_ns[0] == 10'000);
    CHECK(name_of(trace, 1) == "later" && trace.duration_ns[1] == 10'000);
    CHECK(name_of(trace, 2) == "elsewhere" && trace.duration_ns[2] == 2'000);
    CHECK(trace.args_of(0) == "\"b\":2" && trace.args_of(1) == "\"a\":1,\"c\":3");
    CHECK(trace.notes.empty());
}

TEST(what_cannot_be_kept_is_noted) {
    const trace::Trace trace = read(R"([
      {"ph":"b","name":"async","ts":1,"pid":1,"tid":1},
      {"ph":"s","cat":"mine","id":1,"ts":1,"pid":1,"tid":1},
      {"ph":"X","name":"no time","pid":1,"tid":1},
      {"name":"no phase"}])");
    CHECK(trace.size() == 0);
    CHECK(trace.notes.size() == 1 && trace.notes[0].kind == "unread");
    CHECK(contains(trace.notes[0].text, "1 of phase b") && contains(trace.notes[0].text, "1 of a flow"));
}

TEST(members_that_a_trace_has_no_place_for_are_noted) {
    const trace::Trace trace = read(R"([
      {"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1,"tts":5,"tdur":1,"cname":"good","id":"0x1","sf":3},
      {"ph":"B","name":"b","ts":5,"pid":1,"tid":1,"tts":6},
      {"ph":"E","ts":6,"pid":1,"tid":1,"tts":7},
      {"ph":"i","name":"wide","ts":7,"pid":1,"tid":1,"s":"g"},
      {"ph":"i","name":"usual","ts":8,"pid":1,"tid":1,"s":"t"}])");
    CHECK(trace.size() == 4 && trace.notes.size() == 1 && trace.notes[0].kind == "unread");
    const std::string& text = trace.notes[0].text;
    CHECK(contains(text, "3 with tts (left out)") && contains(text, "1 with tdur (left out)"));
    CHECK(contains(text, "1 with cname (left out)") && contains(text, "1 with id (left out)"));
    CHECK(contains(text, "1 with s (left out)") && contains(text, "1 with other members (left out)"));
}

TEST(counters_of_several_ids_are_several) {
    const trace::Trace trace = read(R"([
      {"ph":"C","name":"queue","id":1,"ts":1,"pid":1,"args":{"n":1}},
      {"ph":"C","name":"queue","id":"b\u0061","ts":2,"pid":1,"args":{"n":2}},
      {"ph":"C","name":"queue","ts":3,"pid":1,"args":{"n":3}}])");
    CHECK(name_of(trace, 0) == "queue[1]" && name_of(trace, 1) == "queue[ba]" &&
          name_of(trace, 2) == "queue");
    CHECK(trace.notes.empty());
}

TEST(only_kinetos_markers_are_taken_for_markers) {
    const trace::Trace trace = read(R"([
      {"ph":"i","name":"Iteration Start: PyTorch Profiler","ts":1,"s":"g","pid":"Traces","tid":"t"},
      {"ph":"i","name":"mine","ts":2,"s":"t","pid":"Traces","tid":"t"}])");
    CHECK(trace.size() == 1 && name_of(trace, 0) == "mine");
    CHECK(trace.notes.empty());
}

TEST(events_of_too_many_categories_are_noted) {
    std::string text = "[";
    for (int i = 0; i < 300; ++i) {
        text +=
            (i ? "," : "") + std::string(R"({"ph":"X","ts":1,"cat":"category )") + std::to_string(i) + "\"}";
    }
    const trace::Trace trace = read(text + "]");
    size_t others = 0;
    for (const uint8_t category : trace.category) others += trace.categories[category] == "other";
    CHECK(trace.size() == 300 && others > 0);
    CHECK(trace.notes.size() == 1);
    CHECK(contains(trace.notes[0].text, std::to_string(others) + " of one category too many"));
}

TEST(a_million_bytes_of_args_are_one_event) {
    const std::string value(1 << 20, 'v');
    const std::string text = R"([{"ph":"X","ts":1,"pid":1,"tid":1,"args":{"k":")" + value + "\"}}]";
    CHECK(read(text, 100).args_of(0).size() == value.size() + 6);
}

CHECK_MAIN
