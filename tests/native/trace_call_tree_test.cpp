#include "trace/call_tree.h"

#include "check.h"
#include "format/folded.h"
#include "format/json_text.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;
using format::FoldedMetric;
using trace::Category;

static trace::CallTree tree_of(const trace::Trace& trace, bool with_python = true) {
    const trace::Nesting nesting = trace::nest(trace);
    const trace::DeviceWork work = trace::attribute_device_work(trace, nesting);
    return trace::merge_calls(trace, nesting, work, {with_python, &format::append_unescaped});
}

static std::string folded(const trace::Trace& trace, FoldedMetric metric = FoldedMetric::self_host_time) {
    StringSink sink;
    format::write_folded(trace, tree_of(trace), metric, sink);
    return sink.text;
}

//   [a                  ] [a          ]
//     [b    ] [b  ]         [c ] [b ]
TEST(calls_of_the_same_path_are_one_node) {
    const trace::Trace trace =
        trace_of({{"a", 0, 40}, {"b", 5, 15}, {"b", 20, 25}, {"a", 50, 80}, {"c", 55, 60}, {"b", 65, 70}});
    const trace::CallTree tree = tree_of(trace);
    CHECK(tree.nodes.size() == 3);
    CHECK(tree.nodes[0].count == 2 && tree.nodes[0].total_ns == 70 && tree.nodes[0].self_ns == 45);
    CHECK(tree.nodes[1].parent == 0 && tree.nodes[1].count == 3 && tree.nodes[1].total_ns == 20);
}

TEST(self_times_of_the_tree_add_up_to_the_roots) {
    const trace::Trace trace = trace_of({{"f", 0, 100}, {"f", 10, 90}, {"f", 20, 80}, {"g", 200, 230, 1}});
    const trace::CallTree tree = tree_of(trace);
    int64_t self_ns = 0, roots_ns = 0;
    for (const trace::CallNode& node : tree.nodes) {
        self_ns += node.self_ns;
        if (node.parent < 0) roots_ns += node.total_ns;
    }
    CHECK(tree.nodes.size() == 4 && self_ns == 130 && roots_ns == 130);
}

TEST(python_functions_can_be_left_out) {
    const Category python = Category::python_function;
    const trace::Trace trace =
        trace_of({{"main", 0, 50, 0, python}, {"scope", 10, 40}, {"f", 20, 30, 0, python}});
    const trace::CallTree tree = tree_of(trace, false);
    CHECK(tree.nodes.size() == 1 && tree.nodes[0].self_ns == 30 && tree.nodes[0].parent == -1);
}

TEST(folded_stacks_have_a_line_for_each_path_with_time) {
    const trace::Trace trace = trace_of({{"a", 0, 9'000}, {"b", 1'000, 3'400}, {"short", 4'000, 4'300}});
    CHECK(folded(trace) == "a 6\na;b 2\n");
    CHECK(folded(trace, FoldedMetric::calls) == "a 1\na;b 1\na;short 1\n");
    CHECK(folded(trace, FoldedMetric::self_device_time).empty());
}

TEST(names_cannot_break_a_folded_line) {
    const trace::Trace trace = trace_of({{"a;b\nc\t\x01", 0, 5'000}, {"", 1'000, 2'000}});
    CHECK(folded(trace) == "a b c   4\na b c  ;(no name) 1\n");
}

TEST(names_of_any_bytes_stay_readable_text) {
    const trace::Trace trace = trace_of({{"# step", 0, 5'000}, {"\xff\xe2\x80\xa8\xc3\xa9", 1'000, 2'000}});
    CHECK(folded(trace) == "_ step 4\n_ step;\xef\xbf\xbd \xc3\xa9 1\n");
}

TEST(kernels_stand_at_the_end_of_the_path_that_launched_them) {
    trace::Trace trace =
        trace_of({{"step", 0, 50'000}, {"mm", 5'000, 20'000}, {"gemm", 30'000, 37'000, 1, Category::kernel}});
    trace.tracks[1].device_type = 1;
    for (const int32_t link : {-1, -1, 1}) trace.link.push_back(link);
    CHECK(folded(trace, FoldedMetric::self_device_time) == "step;mm;gemm 7\n");
    const trace::CallTree tree = tree_of(trace);
    CHECK(tree.nodes[0].device_total_ns == 7'000 && tree.nodes[0].self_device_ns == 0);
}

TEST(stacks_recorded_with_an_event_are_its_path) {
    trace::Trace trace = trace_of({{"op", 0, 5'000}, {"inner", 1'000, 2'000}, {"op", 10'000, 12'000}});
    set_args(trace, 0, R"("Call stack":"b.py(2): \"g\";a.py(1): f;")");
    set_args(trace, 1, R"("Call stack":"ignored;")");
    CHECK(folded(trace) == "a.py(1): f;b.py(2): \"g\";op 4\na.py(1): f;b.py(2): \"g\";op;inner 1\nop 2\n");
}

TEST(steps_are_one_node) {
    const trace::Trace trace = trace_of({{"ProfilerStep#1", 0, 1'000}, {"ProfilerStep#2", 1'000, 2'000}});
    CHECK(folded(trace) == "ProfilerStep* 2\n");
}

CHECK_MAIN
