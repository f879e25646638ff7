#include "trace/call_depth.h"

#include "check.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

constexpr auto call = trace::Category::python_function;

std::string names_in(const trace::Trace& trace) {
    std::string names;
    for (size_t row = 0; row < trace.size(); ++row) names += trace.strings[trace.name[row]];
    return names;
}

}  // namespace

//   0    2    4    6    8   10
//   [a                       ]   was open
//        [b             ]
//             [c   ]
//             [s] scope
TEST(calls_deeper_than_wanted_are_left_out_and_scopes_stay) {
    trace::Trace trace = trace_of({{"a", 0, 10, 0, call},
                                   {"b", 2, 8, 0, call},
                                   {"c", 4, 6, 0, call},
                                   {"s", 4, 5},
                                   {"d", 0, 10, 1, call}});
    set_args(trace, 3, "\"n\":1");
    trace::limit_call_depth(trace, {1, {0}});
    CHECK(names_in(trace) == "absd");
    CHECK(trace.args_of(2) == "\"n\":1");
    CHECK(trace.track[3] == 1);
}

TEST(each_track_is_counted_for_itself) {
    trace::Trace trace =
        trace_of({{"a", 1, 9, 0, call}, {"b", 2, 8, 0, call}, {"c", 1, 9, 1, call}, {"d", 2, 8, 1, call}});
    trace::limit_call_depth(trace, {1, {0}});
    CHECK(names_in(trace) == "ac");
}

TEST(without_a_limit_nothing_is_left_out) {
    trace::Trace trace = trace_of({{"a", 1, 9, 0, call}, {"b", 2, 8, 0, call}});
    trace::limit_call_depth(trace, {});
    CHECK(names_in(trace) == "ab");
}

CHECK_MAIN
