// Recordings that are cut to begin at a wall time. Without anchors, one tick is one nanosecond.
#include "trace/begin_at.h"

#include "check.h"

using kinetograph::record::Recording;
using kinetograph::record::Window;
using kinetograph::trace::begin_at;

namespace {

Recording recording(std::vector<Window> windows) {
    Recording made;
    made.window = {100, 200};
    made.threads.emplace_back().windows = std::move(windows);
    return made;
}

bool is(const Window& window, uint64_t begin, uint64_t end) {
    return window.begin == begin && window.end == end;
}

}  // namespace

TEST(windows_begin_with_it) {
    Recording cut = recording({{100, 140}, {160, 200}});
    begin_at(cut, 120);
    CHECK(is(cut.window, 120, 200));
    CHECK(cut.threads[0].windows.size() == 2);
    CHECK(is(cut.threads[0].windows[0], 120, 140) && is(cut.threads[0].windows[1], 160, 200));
}

TEST(what_was_over_by_then_is_left_out) {
    Recording cut = recording({{100, 140}, {160, 200}});
    begin_at(cut, 150);
    CHECK(cut.threads[0].windows.size() == 1 && is(cut.threads[0].windows[0], 160, 200));
}

TEST(one_that_began_later_stays_as_it_is) {
    Recording cut = recording({{100, 200}});
    begin_at(cut, 100);
    begin_at(cut, 7);
    CHECK(is(cut.window, 100, 200) && is(cut.threads[0].windows[0], 100, 200));
}

TEST(one_that_ended_before_is_empty) {
    Recording cut = recording({{100, 190}});
    begin_at(cut, 1000);
    CHECK(is(cut.window, 200, 200) && cut.threads[0].windows.empty());
}

CHECK_MAIN
