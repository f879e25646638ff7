// Times of the wall clock, whatever that does, in ticks.
#include "collect/cupti/clock_map.h"

#include <thread>

#include "check.h"

using namespace kinetograph;
using collect::cupti::ClockMap;

namespace {

constexpr int64_t millisecond_ns = 1'000'000, second_ns = 1'000 * millisecond_ns;

int64_t raw_ns() noexcept {
    return base::read_clock_ns(CLOCK_MONOTONIC_RAW);
}

// The fake wall clock: faster than the raw one by so much, and ahead of it.
double slew = 0;
int64_t step_ns = 0;
const int64_t start_ns = raw_ns();
int64_t wall_ns() noexcept {
    const int64_t since_ns = raw_ns() - start_ns;
    return 1'700'000'000 * second_ns + since_ns + int64_t(double(since_ns) * slew) + step_ns;
}

struct FakeWall {
    explicit FakeWall(double faster = 0) {
        slew = faster;
        step_ns = 0;
    }
    ~FakeWall() { base::exchange_clock_sources(before); }
    const base::ClockSources before = base::exchange_clock_sources({nullptr, wall_ns});
};

void wait(int64_t ns) {
    for (const int64_t until = raw_ns() + ns; raw_ns() < until;) std::this_thread::yield();
}

// How far from the truth a time of just now is converted later.
struct Moment {
    uint64_t ticks = base::ticks();
    uint64_t wall = uint64_t(wall_ns());

    double error_ns(const ClockMap& map) const {
        const base::MeasuredAnchor now = base::measure_anchor();
        const base::MeasuredAnchor& begin = base::process_anchor();
        const double ns_per_tick = double(now.raw_ns - begin.raw_ns) / double(now.ticks - begin.ticks);
        return std::abs(double(int64_t(map.ticks(wall)) - int64_t(ticks))) * ns_per_tick;
    }
};

constexpr double tolerance_ns = 30'000;  // a machine that others use, too

}  // namespace

TEST(ticks_stay_what_they_are) {
    const ClockMap map;
    CHECK(map.ticks(0) == 0);
    const uint64_t now = base::ticks();
    CHECK(map.ticks(now) == now);
}

TEST(a_time_that_is_read_long_after_it_was_made_is_right_although_the_clock_was_slewed) {
    const FakeWall faster(500e-6);
    ClockMap map;
    const Moment early;
    wait(300 * millisecond_ns);  // 150 us more
    const Moment late;
    map.anchor();
    CHECK(early.error_ns(map) < tolerance_ns);
    CHECK(late.error_ns(map) < tolerance_ns);
}

TEST(times_on_both_sides_of_a_step_forward_are_right) {
    const FakeWall wall;
    ClockMap map;
    const Moment before;
    wait(millisecond_ns);
    step_ns = 3600 * second_ns;
    const Moment behind;
    map.anchor();
    CHECK(before.error_ns(map) < tolerance_ns);
    CHECK(behind.error_ns(map) < tolerance_ns);
}

TEST(times_before_a_step_back_and_some_looks_behind_it_are_right) {
    const FakeWall wall;
    ClockMap map;
    const Moment before;
    wait(millisecond_ns);
    map.anchor();
    step_ns = -3600 * second_ns;
    map.anchor();
    wait(millisecond_ns);
    const Moment behind;
    map.anchor();
    CHECK(before.error_ns(map) < tolerance_ns);
    CHECK(behind.error_ns(map) < tolerance_ns);
}

CHECK_MAIN
