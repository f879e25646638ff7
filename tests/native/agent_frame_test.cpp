// Frames of the agent: whole requests come out, however they were cut, and what is no request is seen at
// once.
#include "agent/frame.h"

#include <string>

#include "check.h"

using namespace kinetograph::agent;
using Found = FrameReader::Found;

TEST(a_request_that_comes_byte_by_byte_is_found_when_it_is_whole) {
    const std::string bytes = framed(Kind::capture, R"({"steps":3})");
    FrameReader reader;
    Frame frame;
    for (size_t i = 0; i + 1 < bytes.size(); ++i) {
        reader.feed({&bytes[i], 1});
        CHECK(reader.next(frame) == Found::nothing_yet);
    }
    reader.feed({&bytes.back(), 1});
    CHECK(reader.next(frame) == Found::frame);
    CHECK(frame.kind == Kind::capture);
    CHECK(frame.payload == R"({"steps":3})");
    CHECK(!reader.is_within_frame());
}

TEST(requests_that_come_together_are_found_one_after_another) {
    FrameReader reader;
    reader.feed(framed(Kind::status, "") + framed(Kind::cancel, "{}") + "KG");
    Frame frame;
    CHECK(reader.next(frame) == Found::frame && frame.kind == Kind::status && frame.payload.empty());
    CHECK(reader.next(frame) == Found::frame && frame.kind == Kind::cancel && frame.payload == "{}");
    CHECK(reader.next(frame) == Found::nothing_yet);
    CHECK(reader.is_within_frame());
}

TEST(garbage_is_seen_at_its_first_byte) {
    for (const std::string text : {"GET / HTTP/1.1", "K1", "KG\x02", "KG\x01?", "\n"}) {
        FrameReader reader;
        reader.feed(text);
        Frame frame;
        CHECK(reader.next(frame) == Found::garbage);
    }
}

TEST(an_answer_is_no_request) {
    FrameReader reader;
    reader.feed(framed(Kind::answer, "{}"));
    Frame frame;
    CHECK(reader.next(frame) == Found::garbage);
}

TEST(a_length_that_is_too_large_is_refused_before_anything_comes) {
    FrameReader reader;
    Frame frame;
    reader.feed(framed(Kind::capture, std::string(most_payload_bytes, ' ')));
    CHECK(reader.next(frame) == Found::frame);
    for (const std::string& length : {std::string("\0\1\0\1", 4), std::string("\xff\xff\xff\xff", 4)}) {
        FrameReader fresh;
        fresh.feed(
            "KG\x01"
            "C" +
            length);
        CHECK(fresh.next(frame) == Found::garbage);
    }
}

CHECK_MAIN
