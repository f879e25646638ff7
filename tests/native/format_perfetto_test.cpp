// Perfetto's format: the encoder, lanes that close in time, and what malformed bytes are told.
#include <tuple>

#include "check.h"
#include "format/lanes.h"
#include "format/perfetto_values.h"
#include "format/proto_buffer.h"
#include "format/proto_reader.h"
#include "traces.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

std::string reason_for(std::string_view bytes, size_t* offset = nullptr) {
    try {
        read_perfetto(bytes);
    } catch (const format::ParseError& error) {
        if (offset != nullptr) *offset = error.offset;
        return error.what();
    }
    return "";
}

trace::Trace crossing() {
    return trace_of({{"a", 0, 10}, {"b", 5, 15}, {"c", 5, 5}, {"d", 20, 30, 1}});
}

}  // namespace

TEST(a_long_message_moves_to_make_room_for_its_length) {
    format::ProtoBuffer buffer;
    const std::string inside(1000, 'x');
    buffer.message(1, [&] { buffer.message(2, [&] { buffer.text(3, inside); }); });
    format::ProtoField field;
    format::ProtoReader outer(buffer.bytes(), 0);
    CHECK(outer.next(field) && field.number == 1);
    format::ProtoReader middle(field);
    CHECK(middle.next(field) && field.number == 2);
    format::ProtoReader inner(field);
    CHECK(inner.next(field) && field.number == 3 && field.bytes == inside);
    CHECK(field.offset == buffer.bytes().size() - inside.size());
    CHECK(!inner.next(field));
}

TEST(numbers_of_all_sizes_come_back) {
    for (const uint64_t value : {uint64_t(0), uint64_t(127), uint64_t(128), UINT64_MAX}) {
        format::ProtoBuffer buffer;
        buffer.number(500, value);
        buffer.fixed64(1, value);
        format::ProtoReader reader(buffer.bytes(), 0);
        format::ProtoField field;
        CHECK(reader.next(field) && field.number == 500 && field.value == value);
        CHECK(reader.next(field) && field.number == 1 && field.value == value);
    }
}

TEST(arguments_as_deep_as_json_may_be_come_back) {
    using Form = std::tuple<const char*, const char*, const char*>;
    for (const size_t depth : {99, 100, 101, 102, 110, 128}) {
        for (const auto& [before, inner, after] :
             {Form{"[", "1", "]"}, Form{"[", "[]", "]"}, Form{"{\"k\":", "{}", "}"}}) {
            std::string value = inner;
            const size_t around = depth - (value == "1" ? 0 : 1);
            for (size_t i = 0; i < around; ++i) value = before + value + after;
            const trace::Trace trace = read(R"([{"ph":"X","ts":1,"args":{"deep":)" + value + R"(}}])");
            const trace::Trace again = read_perfetto(written_perfetto(trace));
            CHECK(again.args_of(0) == "\"deep\":" + value);
        }
    }
}

TEST(arguments_that_neighbours_share_come_back_for_each) {
    for (const std::string_view shared :
         {R"("block":3,"sm":-7)", R"("text":"of four or more","more":["text"])"}) {
        trace::Trace trace;
        for (uint32_t track = 0; track < 2; ++track)
            for (int64_t i = 0; i < 4; ++i) add(trace, {"a", i * 10, i * 10 + 5, track});
        set_args(trace, 0, shared);
        for (size_t row = 1; row < trace.size(); ++row) trace.args[row] = trace.args[0];
        set_args(trace, 2, R"("other":1)");
        const trace::Trace again = read_perfetto(written_perfetto(trace));
        for (size_t row = 0; row < trace.size(); ++row) CHECK(again.args_of(row) == trace.args_of(row));
    }
}

TEST(events_at_the_end_of_time_come_back) {
    constexpr std::string_view latest = "2305843009213693.952";
    const std::string event = R"({"ph":"X","ts":2305843009213693,"dur":)" + std::string(latest) + "}";
    const std::string window =
        R"({"ph":"X","cat":"Trace","pid":"Spans","ts":1,"dur":)" + std::string(latest) + "}";
    for (const char* base : {"0", "1", "-1"}) {
        const trace::Trace trace = read(R"({"baseTimeNanoseconds":)" + std::string(base) +
                                        R"(,"traceEvents":[)" + event + "," + window + "]}");
        CHECK(trace.duration_ns[0] < 1000 && trace.notes.size() == 1);
        const trace::Trace again = read_perfetto(written_perfetto(trace));
        CHECK(again.start_ns[0] == trace.start_ns[0] && again.duration_ns[0] == trace.duration_ns[0]);
        CHECK(again.window_end_ns == trace.window_end_ns);
        CHECK(read(written(trace)).duration_ns[0] == trace.duration_ns[0]);
    }
}

TEST(half_a_surrogate_pair_comes_back) {
    const trace::Trace trace =
        read(R"([{"ph":"X","ts":1,"args":{"a":"\ud800\n","b":"\ud83d\ude00","c":["\uDFFF\\u"]}}])");
    const trace::Trace again = read_perfetto(written_perfetto(trace));
    CHECK(again.args_of(0) == "\"a\":\"\\ud800\\n\",\"b\":\"\xF0\x9F\x98\x80\",\"c\":[\"\\uDFFF\\\\u\"]");
}

TEST(lanes_close_in_order_of_time) {
    format::Lanes lanes;
    CHECK(lanes.lane_of(0, 10) == 0);
    CHECK(lanes.lane_of(1, 20) == 1);
    CHECK(lanes.lane_of(2, 5) == 0);
    std::string closed;
    const auto note = [&](size_t lane, int64_t end_ns) {
        closed += std::to_string(lane) + "@" + std::to_string(end_ns) + " ";
    };
    lanes.close_until(9, note);
    lanes.close_until(100, note);
    CHECK(closed == "0@5 0@10 1@20 ");
}

TEST(a_lane_that_is_deep_enough_takes_no_more) {
    format::Lanes lanes(2);
    CHECK(lanes.lane_of(0, 10) == 0);
    CHECK(lanes.lane_of(1, 9) == 0);
    CHECK(lanes.lane_of(2, 8) == 1);
}

TEST(crossing_spans_come_back_on_their_track) {
    const trace::Trace trace = read_perfetto(written_perfetto(crossing()));
    CHECK(trace.size() == 4);
    CHECK(trace.tracks.size() == 2);
    CHECK(trace.duration_ns[1] == 10);
    CHECK(trace.duration_ns[2] == 0);
    CHECK(written_perfetto(trace) == written_perfetto(crossing()));
}

TEST(numbers_are_spelled_as_python_spells_them) {
    using format::perfetto::json_of;
    CHECK(json_of(0.1) == "0.1");
    CHECK(json_of(5.0) == "5.0");
    CHECK(json_of(1e16) == "1e+16");
    CHECK(json_of(-0.0) == "-0.0");
    CHECK(json_of(1e-7) == "1e-07");
    CHECK(json_of(123456789.125) == "123456789.125");
}

TEST(malformed_bytes_get_place_and_reason) {
    size_t offset = 0;
    CHECK(reason_for("hello", &offset) == "expected a packet of a Perfetto trace" && offset == 0);
    CHECK(
        reason_for(std::string_view("\x0a\x00\x0a\x80", 4), &offset).starts_with("a packet that is longer"));
    CHECK(offset == 2);
    CHECK(reason_for(std::string_view("\x0a\x05\x58", 3), &offset).starts_with("a packet that is longer"));
    CHECK(offset == 0);
    CHECK(reason_for(std::string_view("\x0a\x00\x0b", 3), &offset).starts_with("expected a packet"));
    CHECK(offset == 2);
    const std::string endless = "\x0a" + std::string(20, '\x80');
    CHECK(reason_for(endless) == "a number of more than ten bytes");
    CHECK(reason_for(std::string_view("\x0a\x01\x58", 3)) ==
          "a number that goes on behind the end of its message");
    CHECK(reason_for(std::string_view("\x0a\x02\x5a\x05", 4)) == "a field that is longer than its message");
    CHECK(reason_for(std::string_view("\x0a\x01\x0b", 3)) == "a field of a kind that protobuf does not have");
    CHECK(reason_for(std::string_view("\x0a\x02\x00\x00", 4)) == "a field without a number");
}

// Its first event says what file it is; then a part is as good as a part of a JSON file.
TEST(any_part_of_a_file_is_refused_or_read_without_harm) {
    const std::string whole = written_perfetto(crossing());
    bool was_read = false;
    size_t most_rows = 0;
    for (size_t size = 0; size < whole.size(); ++size) {
        const std::string_view part = std::string_view(whole).substr(0, size);
        if (!reason_for(part).empty()) {
            CHECK(!was_read);
            continue;
        }
        const trace::Trace trace = read_perfetto(part, 7);
        was_read |= !trace.notes.empty();
        CHECK(trace.size() >= most_rows && trace.notes.size() <= 1);
        CHECK(trace.notes.size() == 1 || trace.size() == 4 || !was_read);
        for (const trace::Note& note : trace.notes) CHECK(note.kind == "truncated");
        most_rows = trace.size();
    }
    CHECK(was_read && most_rows == 4);
}

CHECK_MAIN
