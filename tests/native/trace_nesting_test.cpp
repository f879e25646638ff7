#include "check.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;
using trace::EventKind;

TEST(sorting_puts_tracks_then_starts_then_longer_spans_first) {
    trace::Trace trace = trace_of({{"c", 5, 6, 1}, {"b", 0, 4, 0}, {"a", 0, 9, 0}, {"d", 1, 2, 0}});
    trace::sort_events(trace);
    std::string order;
    for (size_t row = 0; row < trace.size(); ++row) order += trace.strings[trace.name[row]];
    CHECK(order == "abdc");
}

TEST(equal_rows_keep_their_order) {
    trace::Trace trace = trace_of({{"z", 5, 6}, {"x", 1, 2}, {"y", 1, 2}});
    trace::sort_events(trace);
    CHECK(trace.strings[trace.name[0]] == "x" && trace.strings[trace.name[1]] == "y");
}

TEST(links_follow_the_rows_they_point_to) {
    trace::Trace trace = trace_of({{"late", 5, 6}, {"early", 1, 2}});
    trace.link.push_back(1);
    trace.link.push_back(-1);
    trace::sort_events(trace);
    CHECK(trace.link[1] == 0 && trace.link[0] == -1);
}

//   0    2    4    6    8   10
//   [a                       ]
//        [b        ]
//             [c]       [d   ]
TEST(self_time_is_what_children_leave) {
    const trace::Trace trace = trace_of({{"a", 0, 10}, {"b", 2, 6}, {"c", 4, 5}, {"d", 8, 10}});
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.parent[0] == -1 && nesting.parent[1] == 0 && nesting.parent[2] == 1 &&
          nesting.parent[3] == 0);
    CHECK(nesting.self_ns[0] == 4 && nesting.self_ns[1] == 3 && nesting.self_ns[2] == 1 &&
          nesting.self_ns[3] == 2);
    CHECK(nesting.depth[0] == 0 && nesting.depth[2] == 2 && nesting.depth[3] == 1);
}

//   [root                    ]
//   [a        ]
//        [b        ]
//          [c]
TEST(a_crossing_span_is_no_child_of_the_one_it_crosses) {
    const trace::Trace trace = trace_of({{"root", 0, 20}, {"a", 0, 10}, {"b", 5, 15}, {"c", 7, 9}});
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.parent[2] == 0);
    CHECK(nesting.parent[3] == 2);
    CHECK(nesting.self_ns[1] == 10);
}

TEST(a_span_that_starts_where_another_ends_is_its_sibling) {
    const trace::Trace trace = trace_of({{"a", 0, 5}, {"b", 5, 9}, {"empty", 9, 9}, {"empty too", 9, 9}});
    const trace::Nesting nesting = trace::nest(trace);
    for (size_t row = 0; row < trace.size(); ++row) CHECK(nesting.parent[row] == -1);
}

TEST(a_span_that_starts_where_an_unfinished_one_is_cut_lies_in_it) {
    trace::Trace trace = trace_of({{"outer", 0, 5}, {"inner", 5, 5}});
    trace.flags[0] = trace.flags[1] = trace::event_unfinished;
    CHECK(trace::nest(trace).parent[1] == 0);
}

TEST(tracks_do_not_nest_in_one_another) {
    const trace::Trace trace = trace_of({{"a", 0, 10, 0}, {"b", 2, 5, 1}});
    CHECK(trace::nest(trace).parent[1] == -1);
}

TEST(instants_have_a_parent_but_no_self_time_and_take_none) {
    const trace::Trace trace =
        trace_of({{"a", 0, 10}, {"mark", 3, 3, 0, trace::Category::cpu_instant_event, EventKind::instant}});
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.parent[1] == 0);
    CHECK(nesting.self_ns[0] == 10 && nesting.self_ns[1] == 0);
}

//   [root                    ]
//   [a               ]
//        [b               ]
TEST(children_that_cross_are_not_taken_out_twice) {
    const trace::Trace trace = trace_of({{"root", 0, 20}, {"a", 0, 15}, {"b", 5, 19}});
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.parent[1] == 0 && nesting.parent[2] == 0);
    CHECK(nesting.self_ns[0] == 1);
}

//   [a                ]
//        [async            ]
//          [b   ]
TEST(async_spans_stand_beside_the_tree) {
    trace::Trace trace = trace_of({{"a", 0, 10}, {"async", 5, 15}, {"b", 6, 8}});
    trace.flags[1] = trace::event_async;
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.parent[1] == -1 && nesting.parent[2] == 0);
    CHECK(nesting.self_ns[0] == 8 && nesting.self_ns[1] == 0 && nesting.self_ns[2] == 2);
}

CHECK_MAIN
