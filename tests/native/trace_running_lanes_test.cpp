// Which lane a call belongs to that is told of its thread as a whole.
#include "trace/running_lanes.h"

#include "check.h"

using kinetograph::trace::Clipped;
using kinetograph::trace::RunningLanes;

namespace {

constexpr int32_t tid = 7;
constexpr uint32_t thread_track = 100;  // lane n lies on track 100 + n

Clipped scope(uint64_t start, uint64_t end) {
    return {start, end, 0};
}

void finish(RunningLanes& lanes, int32_t thread = tid) {
    lanes.finish(thread, [](uint16_t lane) { return thread_track + lane; });
}

}  // namespace

// lane 1  |====a====|
// lane 2     |====b====|
TEST(the_scope_that_began_last_runs) {
    RunningLanes lanes;
    lanes.see_scope(1, scope(10, 20));
    lanes.see_scope(2, scope(13, 23));
    finish(lanes);
    CHECK(lanes.track(tid, 10) == thread_track + 1 && lanes.track(tid, 12) == thread_track + 1);
    CHECK(lanes.track(tid, 13) == thread_track + 2 && lanes.track(tid, 19) == thread_track + 2);
    CHECK(lanes.track(tid, 22) == thread_track + 2);
    CHECK(lanes.track(tid, 23) == thread_track && lanes.track(tid, 99) == thread_track);
}

// lane 1  |====a================|
//                    |=c=|
// lane 2     |====b====================|
TEST(a_scope_that_ends_shows_that_its_lane_runs) {
    RunningLanes lanes;
    lanes.see_scope(1, scope(20, 23));
    lanes.see_scope(1, scope(10, 30));
    lanes.see_scope(2, scope(13, 40));
    finish(lanes);
    CHECK(lanes.track(tid, 19) == thread_track + 2);
    CHECK(lanes.track(tid, 21) == thread_track + 1 && lanes.track(tid, 25) == thread_track + 1);
    CHECK(lanes.track(tid, 31) == thread_track + 2);
}

// lane 1  |====a=========|
// lane 2     |====b====| |
//             ^ may be a's already, since a shows up next, which was open all the time
TEST(between_two_lanes_that_show_that_they_run_either_may_have_run) {
    RunningLanes lanes;
    lanes.see_scope(2, scope(13, 20));
    lanes.see_scope(1, scope(10, 25));
    lanes.see_instant(1, 17);
    finish(lanes);
    CHECK(!lanes.is_doubtful(tid, 11) && !lanes.is_doubtful(tid, 9));
    CHECK(lanes.is_doubtful(tid, 13) && lanes.is_doubtful(tid, 16));
    CHECK(lanes.is_doubtful(tid, 18) && !lanes.is_doubtful(tid, 22));
    CHECK(!lanes.is_doubtful(tid + 1, 13));
}

TEST(a_scope_around_it_leaves_no_doubt) {
    RunningLanes lanes;
    lanes.see_scope(1, scope(20, 23));
    lanes.see_scope(1, scope(10, 30));
    lanes.see_scope(2, scope(13, 40));
    finish(lanes);
    CHECK(!lanes.is_doubtful(tid, 21));
}

TEST(so_does_an_instant_within_a_scope) {
    RunningLanes lanes;
    lanes.see_scope(1, scope(10, 30));
    lanes.see_instant(1, 20);
    lanes.see_scope(2, scope(13, 40));
    finish(lanes);
    CHECK(lanes.track(tid, 19) == thread_track + 2 && lanes.track(tid, 20) == thread_track + 1);
}

TEST(a_lane_without_an_open_scope_does_not_run) {
    RunningLanes lanes;
    lanes.see_scope(2, scope(12, 15));
    lanes.see_scope(0, scope(10, 30));
    lanes.see_instant(2, 20);
    finish(lanes);
    CHECK(lanes.track(tid, 13) == thread_track + 2);
    CHECK(lanes.track(tid, 16) == thread_track && lanes.track(tid, 21) == thread_track);
}

TEST(threads_are_apart_and_nothing_is_known_before_the_first_scope) {
    RunningLanes lanes;
    lanes.see_scope(1, scope(10, 20));
    finish(lanes);
    lanes.see_scope(2, scope(10, 20));
    finish(lanes, tid + 1);
    CHECK(lanes.track(tid, 15) == thread_track + 1 && lanes.track(tid + 1, 15) == thread_track + 2);
    CHECK(!lanes.track(tid, 9) && !lanes.track(tid + 2, 15));
}

CHECK_MAIN
