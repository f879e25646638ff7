// Every wrong text is refused with the place and the reason; none is refused twice differently by its pieces.
#include "check.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

struct Refusal {
    size_t offset;
    std::string reason;
};

Refusal refusal(std::string_view text, size_t piece) {
    try {
        read(text, piece);
    } catch (const format::ParseError& error) {
        return {error.offset, error.what()};
    }
    std::fprintf(stderr, "accepted: %.*s\n", static_cast<int>(std::min<size_t>(text.size(), 200)),
                 text.data());
    CHECK(!"the text should have been refused");
    return {};
}

void check_refused(std::string_view text, size_t offset, std::string_view reason) {
    for (const size_t piece : {size_t(1), size_t(3), text.size() + 1}) {
        const Refusal got = refusal(text, piece);
        if (got.offset != offset || got.reason.find(reason) == got.reason.npos) {
            std::fprintf(stderr, "%.80s: at %zu: %s\n", text.data(), got.offset, got.reason.c_str());
        }
        CHECK(got.offset == offset);
        CHECK(got.reason.find(reason) != got.reason.npos);
    }
}

}  // namespace

TEST(what_is_no_trace_is_refused) {
    check_refused("", 0, "empty");
    check_refused("  \n", 3, "empty");
    check_refused("hello", 0, "expected a trace");
    check_refused("\"text\"", 0, "expected a trace");
    check_refused("{}", 2, "no \"traceEvents\"");
    check_refused("{\"a\":1}", 7, "no \"traceEvents\"");
    check_refused("{\"traceEvents\":{}}", 15, "to be an array");
    check_refused("[1]", 1, "expected an event");
}

TEST(text_that_ends_before_the_first_event_does_is_refused_at_its_end) {
    const std::string text =
        R"({"x":1,"traceEvents":[{"ph":"X","name":"a\n","ts":1.5e1,"args":{"k":[true,null,-1]}})";
    for (size_t length = 1; length < text.size(); ++length) {
        const Refusal got = refusal(std::string_view(text).substr(0, length), 5);
        CHECK(got.offset == length);
        CHECK(got.reason.find("ends in the middle") != got.reason.npos);
    }
}

TEST(text_that_ends_later_is_read_as_far_as_it_goes_and_noted) {
    const std::string first = R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1,"args":{}})";
    const std::string text = first + R"(,{"ph":"X","name":"b","ts":3,"dur":1}],"x":{"y":[1,"z"]}})";
    for (size_t length = first.size(); length < text.size(); ++length) {
        for (const size_t piece : {size_t(1), size_t(7), text.size()}) {
            const trace::Trace trace = read(std::string_view(text).substr(0, length), piece);
            const bool has_second = length >= text.find("],");
            CHECK(trace.size() == (has_second ? 2u : 1u));
            CHECK(trace.notes.size() == 1 && trace.notes[0].kind == "truncated");
            CHECK(trace.notes[0].text.find("at byte " + std::to_string(length)) != std::string::npos);
        }
    }
    CHECK(read(text).notes.empty());
}

TEST(an_array_of_events_may_lack_its_bracket_and_end_with_a_comma) {
    for (const char* end : {"", "\n", ",", ",\n"}) {
        const trace::Trace trace = read(std::string(R"([{"ph":"X","name":"a","ts":1,"dur":1})") + end);
        CHECK(trace.size() == 1);
        CHECK(trace.notes.size() == 1);
    }
}

TEST(arguments_that_are_null_are_none) {
    const trace::Trace trace = read(R"([{"args":null,"ph":"X","ts":1},{"ph":"X","ts":2,"args":null}])");
    CHECK(trace.size() == 2 && trace.args.empty() && trace.notes.empty());
    check_refused(R"([{"ph":"X","ts":2,"args":nul}])", 28, "expected a value");
}

TEST(text_after_the_trace_is_refused) {
    check_refused("[] x", 3, "after the end");
    check_refused(std::string_view("[]\0", 3), 2, "after the end");
}

TEST(wrong_tokens_are_refused_where_they_stand) {
    check_refused("{\"a\" 1}", 5, "expected ':'");
    check_refused("{\"a\":1 \"b\"", 7, "expected '}'");
    check_refused("{\"a\":tru }", 8, "expected a value");
    check_refused("{\"a\":01}", 6, "expected '}'");
    check_refused("{\"a\":-}", 6, "expected a digit");
    check_refused("{\"a\":1.}", 7, "expected a digit");
    check_refused("{\"a\":1e}", 7, "expected a digit");
    check_refused("{\"a\":NaN}", 5, "expected a digit");
    check_refused("{\"a\":[1,]}", 8, "expected a digit");
    check_refused("{a:1}", 1, "expected '\"'");
}

TEST(wrong_strings_are_refused) {
    check_refused("{\"a\":\"\n\"}", 6, "control character");
    check_refused(std::string_view("{\"a\":\"\0\"}", 9), 6, "control character");
    check_refused(R"({"a":"\x"})", 7, "unknown escape");
    check_refused(R"({"a":"\u12g4"})", 10, "hexadecimal");
}

TEST(wrong_events_are_refused) {
    check_refused(R"([{"ph":"B","ts":1e40}])", 21, "an event with a time that is out of range");
    check_refused(R"([{"ts":-1e40,"ph":"E"}])", 22, "an event with a time that is out of range");
    check_refused(R"([{"ts":"1}])", 11, "ends in the middle");
    check_refused(R"([{"ph":"X","args":[})", 19, "expected a digit");
    check_refused(R"([{"name":nul}])", 12, "expected a value");
    check_refused(R"({"baseTimeNanoseconds":1.5,"traceEvents":[]})", 26, "expected baseTimeNanoseconds");
}

TEST(members_of_another_type_are_left_out_and_noted) {
    const std::string good = R"({"ph":"X","name":"good","ts":1,"dur":1,"pid":1,"tid":1})";
    for (const char* odd :
         {R"("args":"__stripped__")", R"("args":[1])", R"("name":12)", R"("name":{"a":[1]})", R"("cat":true)",
          R"("dur":"5")", R"("pid":{})", R"("tid":[])", R"("id":false)"}) {
        for (const size_t piece : {size_t(1), size_t(1000)}) {
            const std::string event = std::string(R"({"ph":"X","ts":2,)") + odd + "}";
            const trace::Trace trace = read("[" + good + "," + event + "]", piece);
            CHECK(trace.size() == 2);
            CHECK(trace.notes.size() == 1 && trace.notes[0].kind == "unread");
            CHECK(trace.notes[0].text.find("1 with members of an unexpected type") != std::string::npos);
        }
    }
}

TEST(events_whose_time_or_phase_is_of_another_type_are_left_out_and_noted) {
    const trace::Trace trace =
        read(R"([{"ph":"X","ts":"12"},{"ph":"X","ts":null},{"ph":1,"ts":1},{"ph":"X","ts":3}])");
    CHECK(trace.size() == 1 && trace.start_ns[0] == 3000);
    CHECK(trace.notes[0].text.find("2 without a time") != std::string::npos);
    CHECK(trace.notes[0].text.find("1 without a phase") != std::string::npos);
}

TEST(names_of_rows_may_be_of_another_type) {
    const trace::Trace trace =
        read(R"([{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":[1]}},
                 {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":5,"device_type":"x"}},
                 {"ph":"X","ts":1,"pid":1,"tid":1}])");
    CHECK(trace.size() == 1 && trace.tracks[0].name.empty());
    CHECK(trace.notes[0].text.find("2 with members of an unexpected type") != std::string::npos);
}

TEST(events_with_times_out_of_range_are_left_out_and_noted) {
    const trace::Trace trace =
        read(R"([{"ph":"X","name":"a","ts":7432515010854775.808,"dur":0,"pid":1,"tid":1},
        {"ph":"C","name":"b","ts":-1e40,"pid":1}, {"ph":"i","name":"c","ts":1e40,"pid":1,"tid":1},
        {"ph":"M","name":"thread_name","ts":1e40,"pid":1,"tid":1,"args":{"name":"main"}},
        {"ph":"X","name":"good","ts":2,"dur":1,"pid":1,"tid":1}])");
    CHECK(trace.size() == 1 && trace.start_ns[0] == 2000 && trace.tracks[0].name == "main");
    CHECK(trace.notes[0].text.find("3 with a time that is out of range") != std::string::npos);
}

TEST(durations_out_of_range_are_cut_there_and_matter_to_spans_alone) {
    const trace::Trace trace = read(R"([{"ph":"X","name":"long","ts":1,"dur":1e40,"pid":1,"tid":1},
        {"ph":"X","name":"negative","ts":2,"dur":-1e40,"pid":1,"tid":1},
        {"ph":"B","name":"begun","ts":3,"dur":1e40,"pid":1,"tid":1}, {"ph":"E","ts":5,"dur":1e40,"pid":1,"tid":1},
        {"ph":"i","name":"instant","ts":6,"dur":1e40,"pid":1,"tid":1}])");
    CHECK(trace.size() == 4 && trace.duration_ns[0] > int64_t{1} << 60 && trace.duration_ns[1] == 0);
    CHECK(trace.duration_ns[2] == 2000 && trace.duration_ns[3] == 0);
    CHECK(trace.notes[0].text.find("1 that end out of range (cut there)") != std::string::npos);
    CHECK(trace.notes[0].text.find("1 with a negative duration") != std::string::npos);
}

TEST(members_that_are_null_are_none) {
    const trace::Trace trace = read(R"([{"ph":"X","ts":2,"name":null,"cat":null,"dur":null,"id":null}])");
    CHECK(trace.size() == 1 && trace.duration_ns[0] == 0 && trace.notes.empty());
}

TEST(a_base_that_pushes_times_out_of_range_is_refused) {
    const std::string text =
        R"({"traceEvents":[{"ph":"X","ts":2000000000000000}],"baseTimeNanoseconds":1000000000000000000})";
    check_refused(text, text.size(), "out of range");
}

TEST(nesting_beyond_the_limit_is_refused) {
    const std::string deep = "{\"a\":" + std::string(200, '[');
    check_refused(deep, 5 + 128, "nested deeper");
    const std::string fine =
        "{\"a\":" + std::string(128, '[') + std::string(128, ']') + ",\"traceEvents\":[]}";
    CHECK(read(fine).size() == 0);
}

CHECK_MAIN
