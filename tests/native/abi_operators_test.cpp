// Operators of frameworks through the C table: what becomes of what is told of them, and of ends that are
// late.
#include <string>
#include <string_view>

#include "check.h"
#include "format/json_check.h"
#include "found.h"
#include "record/recorder.h"
#include "record_table.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
using test::count;
using test::has_note;
using test::table;
using test::text;

namespace {

uint64_t begin(std::string_view name) {
    return table().begin_operator(text(name), 0, 0, 0);
}

kinetograph_operator nothing_told() {
    kinetograph_operator told{};
    told.sequence = -1;
    return told;
}

void end(uint64_t begun, kinetograph_operator told = nothing_told()) {
    table().end_operator_with(begun, &told, 0);
}

trace::Trace trace_of(record::SessionId session, trace::Wanted wanted = {}) {
    trace::BuildOptions options;
    options.wanted = wanted;
    options.clean_members = format::clean_members;
    return trace::build_trace(Recorder::instance().stop(session), options);
}

size_t row(const trace::Trace& trace, std::string_view name) {
    for (size_t i = 0; i < trace.size(); ++i)
        if (trace.strings[trace.name[i]] == name) return i;
    CHECK(!"the event is there");
    return 0;
}

}  // namespace

TEST(an_operator_has_its_number_and_shares_the_text_of_its_inputs) {
    const auto session = Recorder::instance().start({});
    const uint32_t inputs = text("\"Input Dims\":[[2,3]]"), members = text("\"Overload name\":\"out\"");
    for (const char* name : {"first", "second"})
        end(begin(name), {.sequence = 5,
                          .flops = 12,
                          .forward_thread = 1,
                          .members = members,
                          .inputs = inputs,
                          .inputs_bytes = 0,
                          .inputs_text = nullptr,
                          .number = 0});
    end(begin("plain"));
    const trace::Trace trace = trace_of(session);
    const size_t first = row(trace, "first"), second = row(trace, "second"), plain = row(trace, "plain");
    CHECK(trace.args_of(first) ==
          "\"Input Dims\":[[2,3]],\"Fwd thread id\":1,\"flops\":12,\"Overload name\":\"out\"");
    CHECK(trace.args[first].offset == trace.args[second].offset);
    CHECK(trace.sequence[first] == 5 && trace.sequence[plain] == -1);
    CHECK(trace.args_of(plain).empty());
}

TEST(one_that_has_little_to_tell_may_say_it_without_a_struct) {
    const auto session = Recorder::instance().start({});
    table().end_operator(begin("without gradient"), -1, 0);
    table().end_operator(begin("forward"), 5, 0);
    table().end_operator(begin("backward"), 5, 2);
    table().end_operator(0, 5, 0);
    const trace::Trace trace = trace_of(session);
    CHECK(trace.size() == 3);
    CHECK(trace.sequence[row(trace, "without gradient")] == -1);
    CHECK(trace.args_of(row(trace, "without gradient")).empty());
    CHECK(trace.sequence[row(trace, "forward")] == 5);
    CHECK(trace.args_of(row(trace, "forward")) == "\"Fwd thread id\":0");
    CHECK(trace.sequence[row(trace, "backward")] == 5);
    CHECK(trace.args_of(row(trace, "backward")) == "\"Fwd thread id\":2");
}

TEST(a_number_alone_may_be_larger_than_its_place_in_the_record) {
    const auto session = Recorder::instance().start({});
    const int64_t numbers[] = {0, UINT32_MAX, int64_t(UINT32_MAX) + 1};
    kinetograph_operator told = nothing_told();
    for (const int64_t number : numbers) {
        told.sequence = number;
        end(begin("operator"), told);
    }
    const trace::Trace trace = trace_of(session);
    for (size_t i = 0; i < trace.size(); ++i) {
        CHECK(trace.sequence[i] == numbers[i]);
        CHECK(trace.args_of(i) == "\"Fwd thread id\":0");
    }
    CHECK(trace.correlation.empty());
}

TEST(what_the_framework_calls_one_is_kept_beside_all_else) {
    const auto session = Recorder::instance().start({});
    kinetograph_operator told = nothing_told();
    told.number = 7;
    end(begin("numbered"), told);
    told.sequence = 3;
    told.number = 8;
    end(begin("both"), told);
    table().end_operator(begin("plain"), 3, 0);
    const trace::Trace trace = trace_of(session);
    CHECK(trace.record_function[row(trace, "numbered")] == 7);
    CHECK(trace.sequence[row(trace, "numbered")] == -1);
    CHECK(trace.record_function[row(trace, "both")] == 8);
    CHECK(trace.record_function[row(trace, "plain")] == 0);
    CHECK(trace.sequence[row(trace, "both")] == 3 && trace.sequence[row(trace, "plain")] == 3);
    CHECK(trace.correlation.empty());
}

TEST(one_that_ended_earlier_has_the_time_of_that) {
    const auto session = Recorder::instance().start({});
    kinetograph_operator told = nothing_told();
    const uint64_t outer = begin("outer");
    const uint64_t ended = table().ticks();
    const uint64_t inner = begin("behind it");
    told.number = 7;
    table().end_operator_with(outer, &told, ended);
    end(inner);
    const trace::Trace trace = trace_of(session);
    CHECK(trace.end_ns(row(trace, "outer")) <= trace.start_ns[row(trace, "behind it")]);
    CHECK(trace.record_function[row(trace, "outer")] == 7);
}

TEST(inputs_told_as_text_are_kept_for_those_who_want_them) {
    const std::string dims = "\"Input Dims\":[" + std::string(300, '1') + "]";
    for (const bool wanted : {true, false}) {
        const auto session = Recorder::instance().start({});
        kinetograph_operator told = nothing_told();
        told.sequence = 1;
        told.flops = 7;
        told.inputs_bytes = uint32_t(dims.size());
        told.inputs_text = dims.data();
        end(begin("operator"), told);
        const trace::Trace trace = trace_of(session, {.input_shapes = wanted, .flops = wanted});
        const std::string all = dims + ",\"Fwd thread id\":0,\"flops\":7";
        CHECK(trace.args_of(row(trace, "operator")) == (wanted ? all : "\"Fwd thread id\":0"));
    }
}

TEST(the_end_of_one_that_began_in_a_session_before_is_no_loss) {
    const auto before = Recorder::instance().start({});
    const uint64_t left = begin("left");
    const trace::Trace first = trace_of(before);
    CHECK(first.flags[row(first, "left")] & trace::event_unfinished);
    const auto session = Recorder::instance().start({});
    const uint64_t around = begin("around");
    end(left);
    end(around);
    const trace::Trace second = trace_of(session);
    CHECK(count(second, "left") == 0 && count(second, "around") == 1);
    CHECK(!has_note(second, "unbalanced"));
}

TEST(ends_may_come_in_another_order) {
    const auto session = Recorder::instance().start({});
    const uint64_t outer = begin("same"), inner = begin("same");
    kinetograph_operator told = nothing_told();
    told.sequence = 1;
    end(outer, told);
    told.sequence = 2;
    end(inner, told);
    const trace::Trace trace = trace_of(session);
    CHECK(trace.size() == 2 && trace.sequence[0] == 1 && trace.sequence[1] == 2);
    CHECK(!has_note(trace, "unbalanced"));
}

TEST(without_a_session_nothing_is_followed) {
    CHECK(begin("operator") == 0);
    end(0);
}

TEST(operators_fill_many_extents) {
    const auto session = Recorder::instance().start({});
    kinetograph_operator told = nothing_told();
    for (int i = 0; i < 10'000; ++i) {
        told.sequence = i;
        end(begin("operator"), told);
    }
    const trace::Trace trace = trace_of(session);
    CHECK(count(trace, "operator") == 10'000);
    for (size_t i = 0; i < trace.size(); ++i) CHECK(trace.sequence[i] == int64_t(i));
}

TEST(one_that_lies_too_deep_leaves_the_others_in_order) {
    const auto session = Recorder::instance().start({});
    constexpr int depth = 5'000;
    std::vector<uint64_t> begun;
    for (int i = 0; i < depth; ++i) begun.push_back(begin("deep"));
    CHECK(begun.back() == 0);
    for (int i = depth; i-- > 0;) end(begun[i]);
    end(begin("after"));
    const trace::Trace trace = trace_of(session);
    CHECK(count(trace, "deep") > 1'000 && count(trace, "after") == 1);
    CHECK(!has_note(trace, "unbalanced"));
}

CHECK_MAIN
