#include <string>

#include "check.h"
#include "trace/trace.h"
#include "trace/track_index.h"

using namespace kinetograph::trace;

TEST(id_zero_is_the_empty_string) {
    Strings strings;
    CHECK(strings.size() == 1);
    CHECK(strings[0].empty());
    CHECK(strings.intern("") == 0);
}

TEST(equal_strings_have_one_id_in_order_of_first_use) {
    Strings strings;
    CHECK(strings.intern("b") == 1);
    CHECK(strings.intern("a") == 2);
    CHECK(strings.intern("b") == 1);
    CHECK(strings[2] == "a");
}

TEST(a_hundred_thousand_strings_are_found_again) {
    Strings strings;
    for (uint32_t i = 0; i < 100'000; ++i) CHECK(strings.intern("name " + std::to_string(i)) == i + 1);
    for (uint32_t i = 0; i < 100'000; ++i) CHECK(strings.intern("name " + std::to_string(i)) == i + 1);
    const Strings copy = strings.clone();
    CHECK(copy[777] == "name 776");
}

TEST(strings_may_hold_nul) {
    Strings strings;
    const std::string with_nul("a\0b", 3);
    const uint32_t id = strings.intern(with_nul);
    CHECK(strings[id] == with_nul);
    CHECK(strings.intern("a") != id);
}

TEST(an_unknown_category_is_added_until_there_is_no_room) {
    Trace trace;
    CHECK(trace.category_id("kernel") == uint8_t(Category::kernel));
    const uint8_t first = trace.category_id("mine");
    CHECK(trace.category_id("mine") == first);
    for (int i = 0; i < 400; ++i) trace.category_id("category " + std::to_string(i));
    CHECK(trace.categories.size() == 256);
    CHECK(trace.categories[trace.category_id("one too many")] == "other");
}

TEST(a_track_index_knows_the_tracks_that_are_there) {
    Trace trace;
    TrackIndex(trace).track("1", "2");
    TrackIndex index(trace);
    CHECK(index.track("1", "2") == 0);
    CHECK(index.track("1", "3") == 1);
    CHECK(index.track("2", "2") == 2);
    CHECK(index.track("1", "2") == 0);
    CHECK(trace.processes.size() == 2 && trace.tracks.size() == 3);
}

CHECK_MAIN
