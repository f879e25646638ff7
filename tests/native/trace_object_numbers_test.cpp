#include "trace/object_numbers.h"

#include "check.h"
#include "record/object_name.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

constexpr auto call = trace::Category::python_function;
// A class, its number, the number of the object.
constexpr std::string_view object_1_1 = "A\0361\0361";
constexpr std::string_view object_1_2 = "A\0361\0362";
constexpr std::string_view object_1_4 = "A\0361\0364";
constexpr std::string_view object_1_9 = "A\0361\0369";
constexpr std::string_view object_2_2 = "A\0362\0362";

// The names that hold a separator, by which objects are told apart.
std::vector<uint32_t> of_objects(trace::Trace& trace) {
    std::vector<uint32_t> names;
    for (uint32_t name = 0; name < trace.strings.size(); ++name)
        if (record::is_name_of_object(trace.strings[name])) names.push_back(name);
    return names;
}

std::string shown(const trace::Trace& trace) {
    std::string text;
    for (size_t row = 0; row < trace.size(); ++row)
        text += std::string(trace.strings[trace.name[row]]) + "{" + std::string(trace.args_of(row)) + "} ";
    return text;
}

}  // namespace

//   0    2    4    6    8   10
//   [A, 1st                  ]
//        [A, 2nd ]  [A, 1st ]
//        [f]
TEST(objects_are_numbered_by_their_first_call) {
    trace::Trace trace = trace_of({{object_1_9, 0, 10, 0, call},
                                   {object_1_4, 2, 5, 0, call},
                                   {"f", 2, 3, 0, call},
                                   {object_1_9, 6, 10, 0, call}});
    trace::number_objects(trace, of_objects(trace));
    CHECK(shown(trace) ==
          "A_0{\"Python module id\":0} A_1{\"Python module id\":1} f{} "
          "A_0{\"Python module id\":0} ");
}

TEST(the_first_call_may_be_on_another_track) {
    trace::Trace trace = trace_of({{object_1_1, 5, 6, 0, call}, {object_1_2, 1, 2, 1, call}});
    trace::number_objects(trace, of_objects(trace));
    CHECK(shown(trace) == "A_1{\"Python module id\":1} A_0{\"Python module id\":0} ");
}

TEST(calls_that_were_open_are_numbered_from_the_outermost) {
    trace::Trace trace = trace_of({{object_1_2, 0, 9, 0, call}, {object_1_1, 0, 9, 0, call}});
    trace::number_objects(trace, of_objects(trace));
    CHECK(shown(trace) == "A_0{\"Python module id\":0} A_1{\"Python module id\":1} ");
}

// As PyTorch has it.
TEST(classes_of_one_name_are_numbered_each_for_itself_and_share_names) {
    trace::Trace trace = trace_of({{object_1_1, 0, 1, 0, call}, {object_2_2, 2, 3, 0, call}});
    trace::number_objects(trace, of_objects(trace));
    CHECK(shown(trace) == "A_0{\"Python module id\":0} A_0{\"Python module id\":0} ");
    CHECK(trace.name[0] == trace.name[1]);
}

TEST(other_arguments_stay) {
    trace::Trace trace = trace_of({{"f", 0, 9, 0, call}, {object_1_1, 1, 2, 0, call}});
    set_args(trace, 0, "\"n\":1");
    set_args(trace, 1, "\"Call line\":7");
    trace::number_objects(trace, of_objects(trace));
    CHECK(shown(trace) == "f{\"n\":1} A_0{\"Python module id\":0,\"Call line\":7} ");
}

TEST(without_objects_nothing_changes) {
    trace::Trace trace = trace_of({{"f", 0, 9, 0, call}});
    trace::number_objects(trace, {});
    CHECK(shown(trace) == "f{} ");
    CHECK(trace.args.empty());
}

CHECK_MAIN
