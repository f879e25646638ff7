#include "trace/averages.h"

#include "check.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;
using trace::Average;
using trace::AverageOptions;
using trace::Averages;
using trace::Category;

static Averages averages_of(const trace::Trace& trace, const AverageOptions& options = {}) {
    const trace::Nesting nesting = trace::nest(trace);
    return trace::average(trace, nesting, trace::attribute_device_work(trace, nesting), options);
}

static Average named(const trace::Trace& trace, const Averages& averages, std::string_view name) {
    for (const Average& group : averages.groups) {
        if (trace.strings[trace.name[group.row]] == name) return group;
    }
    fail(__FILE__, __LINE__, "no such group");
}

//   0    10   20   30   40   50
//   [a                  ]
//        [b   ]   [b  ]    [a ]
TEST(counts_and_times_by_name) {
    const trace::Trace trace = trace_of({{"a", 0, 40}, {"b", 10, 20}, {"b", 25, 38}, {"a", 45, 50}});
    const Averages averages = averages_of(trace);
    CHECK(averages.groups.size() == 2);
    const Average a = averages.groups[0], b = averages.groups[1];
    CHECK(a.count == 2 && a.total_ns == 45 && a.self_ns == 22 && a.min_ns == 5 && a.max_ns == 40);
    CHECK(b.count == 2 && b.total_ns == 23 && b.self_ns == 23);
    CHECK(a.outermost == 2 && b.outermost == 0);
}

TEST(groups_come_in_the_order_of_their_first_spans_on_whatever_track) {
    const trace::Trace trace =
        trace_of({{"late", 50, 60, 0}, {"x", 70, 80, 0}, {"early", 0, 9, 1}, {"x", 10, 11, 1}});
    const Averages averages = averages_of(trace);
    CHECK(averages.groups[0].row == 2 && averages.groups[1].row == 3 && averages.groups[2].row == 0);
    CHECK(averages.groups[1].count == 2);
}

//   [f                  ]
//      [f          ]
//         [g ][f]
TEST(a_function_that_calls_itself_has_each_call_counted_and_its_time_once) {
    const Category python = Category::python_function;
    const trace::Trace trace = trace_of(
        {{"f", 0, 20, 0, python}, {"f", 3, 15, 0, python}, {"g", 6, 9, 0, python}, {"f", 10, 12, 0, python}});
    const Averages averages = averages_of(trace, {.with_python = true});
    const Average f = named(trace, averages, "f");
    CHECK(f.count == 3 && f.total_ns == 20 && f.self_ns == 17 && f.max_ns == 20 && f.min_ns == 2);
}

// An interpreter ran the kernel within the operator.
TEST(what_was_recorded_inside_kernels_is_no_host_time_of_its_own) {
    const Category op = Category::cpu_op, inside = Category::intra_kernel;
    const trace::Trace trace =
        trace_of({{"op", 0, 100, 0, op}, {"load", 10, 40, 1, inside}, {"dot", 20, 50, 1, inside}});
    const Averages averages = averages_of(trace);
    CHECK(named(trace, averages, "op").self_ns == 100);
    for (const char* task : {"load", "dot"}) {
        const Average average = named(trace, averages, task);
        CHECK(average.count == 1 && average.total_ns == 30 && average.self_ns == 0);
    }
}

TEST(an_operator_dispatched_again_is_one_call) {
    const Category op = Category::cpu_op;
    const trace::Trace trace =
        trace_of({{"add", 0, 20, 0, op}, {"add", 2, 18, 0, op}, {"empty", 5, 8, 0, op}});
    const Average add = named(trace, averages_of(trace), "add");
    CHECK(add.count == 1 && add.total_ns == 20 && add.self_ns == 17);
    const trace::Trace siblings =
        trace_of({{"add", 0, 20, 0, op}, {"add", 2, 8, 0, op}, {"add", 9, 12, 0, op}});
    CHECK(averages_of(siblings).groups[0].count == 3);
}

TEST(later_runs_of_a_generator_add_time_but_no_call) {
    trace::Trace trace = trace_of({{"g", 0, 5}, {"g", 10, 12}, {"g", 20, 21}});
    trace.flags[1] = trace.flags[2] = trace::event_resumed;
    const Average g = averages_of(trace).groups[0];
    CHECK(g.count == 1 && g.total_ns == 8 && g.self_ns == 8);
}

//   [main.py                        ]   Python
//      [scope        ]   [helper.py]
//        [helper.py]
TEST(python_functions_without_rows_leave_their_time_to_the_event_around_them) {
    const Category python = Category::python_function;
    const trace::Trace trace = trace_of({{"main.py", 0, 40, 0, python},
                                         {"scope", 5, 20},
                                         {"helper.py", 8, 18, 0, python},
                                         {"helper.py", 25, 35, 0, python}});
    const Averages without = averages_of(trace);
    CHECK(without.groups.size() == 1);
    CHECK(without.groups[0].self_ns == 15 && without.groups[0].outermost == 1);
    CHECK(without.python_functions == 2 && without.python_calls == 3 && without.python_ns == 25);
    const Averages with = averages_of(trace, {.with_python = true});
    CHECK(with.groups.size() == 3 && with.python_functions == 0);
    CHECK(named(trace, with, "scope").self_ns == 5);
}

TEST(hidden_bookkeeping_counts_for_what_is_around_it) {
    const trace::Trace trace =
        trace_of({{"aten::add", 0, 20}, {"aten::is_leaf", 5, 8}, {"aten::is_leaf", 30, 31}});
    const Averages averages = averages_of(trace);
    CHECK(averages.groups.size() == 1 && averages.groups[0].self_ns == 20);
}

TEST(steps_are_one_group) {
    const trace::Trace trace = trace_of({{"ProfilerStep#1", 0, 10}, {"ProfilerStep#2", 10, 30}});
    const Averages averages = averages_of(trace);
    CHECK(averages.groups.size() == 1 && averages.groups[0].count == 2 && averages.groups[0].total_ns == 30);
}

TEST(categories_and_devices_tell_equal_names_apart) {
    trace::Trace trace =
        trace_of({{"a", 0, 10}, {"a", 20, 22, 0, Category::cpu_op}, {"a", 5, 9, 1, Category::kernel}});
    trace.tracks[1].device_type = 1;
    const Averages averages = averages_of(trace);
    CHECK(averages.groups.size() == 3);
    CHECK(averages.groups[1].total_ns == 0 && averages.groups[1].device_total_ns == 4);
}

TEST(shapes_tell_equal_names_apart_when_asked_to) {
    trace::Trace trace = trace_of({{"mm", 0, 10}, {"mm", 20, 25}, {"mm", 30, 31}});
    set_args(trace, 0, R"("Input Dims":[[2,2]])");
    set_args(trace, 1, R"("x":1,"Input Dims":[[2,2]])");
    set_args(trace, 2, R"("Input Dims":[[4,4]])");
    CHECK(averages_of(trace).groups.size() == 1);
    const Averages averages = averages_of(trace, {.by_shapes = true});
    CHECK(averages.groups.size() == 2 && averages.groups[0].count == 2);
}

//   [main                ]
//     [f     ] [g     ]
//       [op]     [op]
TEST(stacks_tell_equal_names_apart_by_their_innermost_frames) {
    const Category python = Category::python_function;
    trace::Trace trace = trace_of({{"main", 0, 40, 0, python},
                                   {"f", 1, 10, 0, python},
                                   {"op", 2, 5},
                                   {"g", 11, 20, 0, python},
                                   {"op", 12, 15}});
    CHECK(averages_of(trace, {.stack_frames = 1}).groups.size() == 2);
    set_args(trace, 2, R"("Call stack":"x.py(1): f;")");
    CHECK(averages_of(trace, {.stack_frames = 2}).groups.size() == 2);
}

TEST(stacks_that_were_recorded_as_arguments_count_where_no_call_was_traced) {
    trace::Trace trace = trace_of({{"op", 0, 1}, {"op", 2, 3}, {"op", 4, 5}});
    set_args(trace, 0, R"("Call stack":"f;main;")");
    set_args(trace, 1, R"("Call stack":"f;other;")");
    set_args(trace, 2, R"("Call stack":"g;main;")");
    CHECK(averages_of(trace, {.stack_frames = 1}).groups.size() == 2);
    CHECK(averages_of(trace, {.stack_frames = 2}).groups.size() == 3);
}

//   host    [step                      ]
//              [mm         ] [copy ]
//                 [launch]
//   device           [kernel 7]  [memcpy 3]
TEST(work_of_devices_counts_for_what_launched_it_and_for_what_is_around) {
    trace::Trace trace = trace_of({{"step", 0, 50},
                                   {"mm", 5, 20, 0, Category::cpu_op},
                                   {"launch", 8, 12, 0, Category::cuda_runtime},
                                   {"copy", 25, 35, 0, Category::cpu_op},
                                   {"kernel", 15, 22, 1, Category::kernel},
                                   {"memcpy", 30, 33, 1, Category::gpu_memcpy},
                                   {"step", 15, 33, 1, Category::gpu_user_annotation}});
    trace.tracks[1].device_type = 1;
    for (const int64_t correlation : {0, 0, 7, 0, 7, 0, 0}) trace.correlation.push_back(correlation);
    for (const int32_t link : {-1, -1, -1, -1, -1, 3, 0}) trace.link.push_back(link);
    const Averages averages = averages_of(trace);
    const Average mm = named(trace, averages, "mm"), copy = named(trace, averages, "copy");
    CHECK(mm.self_device_ns == 7 && mm.device_total_ns == 7);
    CHECK(copy.self_device_ns == 3);
    const Average step = averages.groups[0];
    CHECK(step.self_device_ns == 0 && step.device_total_ns == 10);
    CHECK(named(trace, averages, "launch").device_total_ns == 0);
    CHECK(named(trace, averages, "kernel").self_device_ns == 7);
}

TEST(a_launch_that_stands_alone_is_its_own_launcher) {
    trace::Trace trace =
        trace_of({{"launch", 0, 5, 0, Category::cuda_runtime}, {"kernel", 9, 12, 1, Category::kernel}});
    trace.tracks[1].device_type = 1;
    for (int row = 0; row < 2; ++row) trace.correlation.push_back(4);
    CHECK(named(trace, averages_of(trace), "launch").self_device_ns == 3);
}

TEST(memory_counts_for_the_span_around_it) {
    trace::Trace trace =
        trace_of({{"outer", 0, 20},
                  {"inner", 5, 10},
                  {"[memory]", 6, 6, 0, Category::cpu_instant_event, trace::EventKind::memory},
                  {"[memory]", 15, 15, 0, Category::cpu_instant_event, trace::EventKind::memory}});
    set_args(trace, 2, R"("Bytes":100,"Device Type":0)");
    set_args(trace, 3, R"("Bytes":-40,"Device Type":1)");
    const Averages averages = averages_of(trace);
    const Average outer = named(trace, averages, "outer"), inner = named(trace, averages, "inner");
    CHECK(inner.host_bytes == 100 && inner.self_host_bytes == 100);
    CHECK(outer.host_bytes == 100 && outer.self_host_bytes == 0 && outer.device_bytes == -40);
}

TEST(async_spans_have_a_duration_but_no_self_time) {
    trace::Trace trace = trace_of({{"a", 0, 10}, {"async", 5, 15}});
    trace.flags[1] = trace::event_async;
    const Average async = named(trace, averages_of(trace), "async");
    CHECK(async.count == 1 && async.total_ns == 10 && async.self_ns == 0);
}

TEST(many_names_each_have_a_group_of_their_own) {
    trace::Trace trace;
    for (int64_t i = 0; i < 3'000; ++i) add(trace, {std::to_string(i % 1'000), i * 10, i * 10 + i % 1'000});
    const Averages averages = averages_of(trace);
    CHECK(averages.groups.size() == 1'000);
    for (const Average& group : averages.groups) {
        CHECK(group.count == 3 &&
              group.max_ns == std::stoll(std::string(trace.strings[trace.name[group.row]])));
    }
}

TEST(an_empty_trace_has_no_averages) {
    CHECK(averages_of(trace::Trace()).groups.empty());
}

CHECK_MAIN
