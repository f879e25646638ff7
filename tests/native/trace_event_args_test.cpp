#include "trace/event_args.h"

#include <string>

#include "check.h"

using namespace kinetograph::trace;

TEST(a_member_is_found_wherever_it_stands) {
    const std::string_view members = R"("a":1,"Input Dims":[[2,3],[]],"z":"last")";
    CHECK(argument(members, "a") == "1");
    CHECK(argument(members, "Input Dims") == "[[2,3],[]]");
    CHECK(string_argument(members, "z") == "last");
    CHECK(argument(members, "b").empty());
    CHECK(argument("", "a").empty());
}

TEST(only_members_of_the_object_itself_count) {
    const std::string_view members = R"("x":{"Bytes":1,"y":[{"Bytes":2}]},"t":"\"Bytes\":3","Bytes":4)";
    CHECK(integer_argument(members, "Bytes") == 4);
    CHECK(argument(R"("x":{"Bytes":1})", "Bytes").empty());
    CHECK(argument(R"("t":"\"Bytes\":3")", "Bytes").empty());
}

TEST(escapes_do_not_end_a_string) {
    CHECK(string_argument(R"("a":"x\\","b":"\"")", "b") == R"(\")");
    CHECK(argument(R"("a\"b":1,"b":2)", "b") == "2");
}

TEST(numbers_of_all_kinds_become_whole_ones) {
    CHECK(integer_argument(R"("n":-12)", "n") == -12);
    CHECK(integer_argument(R"("n":12.9)", "n") == 12);
    CHECK(integer_argument(R"("n":1e3)", "n") == 1000);
    CHECK(integer_argument(R"("n":1e300)", "n") == 0);
    CHECK(integer_argument(R"("n":"12")", "n") == 0);
    CHECK(string_argument(R"("n":12)", "n").empty());
}

TEST(members_are_gone_over_in_their_order) {
    std::string seen;
    for (Arguments each(R"("a":[1,2],"b":{"c":"x,y"},"d":"")"); each.next();)
        ((seen += each.key()) += '=') += std::string(each.value()) + ';' + std::string(each.member()) + '|';
    CHECK(seen == R"(a=[1,2];"a":[1,2]|b={"c":"x,y"};"b":{"c":"x,y"}|d="";"d":""|)");
    CHECK(!Arguments("").next());
}

CHECK_MAIN
