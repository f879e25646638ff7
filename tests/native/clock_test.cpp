#include "base/clock.h"

#include <cmath>
#include <thread>

#include "check.h"

using namespace kinetograph::base;

namespace {

int64_t offset_ns = 0;  // what the fake wall clock is ahead of the true one
int64_t stepping_wall_ns() noexcept {
    return read_clock_ns(CLOCK_REALTIME) + offset_ns;
}

// The raw clock at which a tick was read, bracketed by two reads.
struct Sample {
    int64_t before_ns, after_ns;
    uint64_t ticks;
};

Sample sample() {
    Sample result;
    result.before_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
    result.ticks = ticks();
    result.after_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
    return result;
}

void wait_until_raw(int64_t until_ns) {
    while (read_clock_ns(CLOCK_MONOTONIC_RAW) < until_ns) std::this_thread::yield();
}

// Every sample of a session, converted, lies where CLOCK_MONOTONIC_RAW says, within the error the fit claims.
void check_session_of(int64_t length_ns) {
    const MeasuredAnchor start = measure_anchor();
    Sample samples[8];
    for (int i = 0; i < 8; ++i) {
        wait_until_raw(start.raw_ns + length_ns * i / 8);
        samples[i] = sample();
    }
    const MeasuredAnchor stop = measure_anchor();
    const ClockFit fit = ClockFit::from_anchors(process_anchor(), start, stop);
    const int64_t raw_to_wall_ns = start.wall_ns - start.raw_ns;
    for (const Sample& at : samples) {
        const int64_t raw_ns = fit.to_wall_ns(at.ticks) - raw_to_wall_ns;
        CHECK(raw_ns >= at.before_ns - fit.error_ns());
        CHECK(raw_ns <= at.after_ns + fit.error_ns());
    }
    CHECK(!fit.wall_stepped());
}

}  // namespace

TEST(a_session_of_20_us_agrees_with_the_raw_clock) {
    check_session_of(20'000);
}

TEST(a_session_of_a_second_agrees_with_the_raw_clock) {
    check_session_of(1'000'000'000);
}

TEST(the_error_bound_is_small_against_what_is_measured) {
    const MeasuredAnchor start = measure_anchor();
    wait_until_raw(start.raw_ns + 20'000);
    const ClockFit fit = ClockFit::from_anchors(process_anchor(), start, measure_anchor());
    CHECK(fit.error_ns() > 0);
    CHECK(fit.error_ns() < 50'000);
}

TEST(converted_times_never_go_back) {
    const MeasuredAnchor start = measure_anchor();
    std::vector<uint64_t> all;
    for (int i = 0; i < 100'000; ++i) all.push_back(ticks());
    const ClockFit fit = ClockFit::from_anchors(process_anchor(), start, measure_anchor());
    for (size_t i = 1; i < all.size(); ++i) CHECK(fit.to_wall_ns(all[i]) >= fit.to_wall_ns(all[i - 1]));
}

TEST(damaged_ticks_become_no_time_that_readers_refuse) {
    const MeasuredAnchor start = measure_anchor();
    const auto fit = ClockFit::from_anchors(process_anchor(), start, measure_anchor());
    CHECK(fit.to_wall_ns(UINT64_MAX) == latest_ns);
    CHECK(fit.to_wall_ns(0) >= 0);
}

TEST(a_step_of_the_wall_clock_is_told_and_does_not_bend_time) {
    const ClockSources before = exchange_clock_sources({nullptr, stepping_wall_ns});
    for (const int64_t step_ns :
         std::initializer_list<int64_t>{3'600'000'000'000, -3'600'000'000'000, 5'000'000}) {
        offset_ns = 0;
        const MeasuredAnchor start = measure_anchor();
        const uint64_t early = ticks();
        wait_until_raw(start.raw_ns + 2'000'000);
        offset_ns = step_ns;
        const uint64_t late = ticks();
        const MeasuredAnchor stop = measure_anchor();
        const ClockFit fit = ClockFit::from_anchors(process_anchor(), start, stop);
        CHECK(fit.wall_stepped());
        CHECK(std::abs(fit.wall_drift_ns() - step_ns) < 1'000'000);
        const int64_t elapsed_ns = fit.to_wall_ns(late) - fit.to_wall_ns(early);
        CHECK(elapsed_ns >= 1'900'000 && elapsed_ns <= stop.raw_ns - start.raw_ns + fit.error_ns());
    }
    exchange_clock_sources(before);
}

TEST(a_baseline_spoilt_by_suspend_is_not_used) {
    MeasuredAnchor life{{1'000, 0, 0}, 10};
    // The machine slept for an hour: ticks went on, the raw clock did not.
    const double rate = 0.5;
    const uint64_t start_ticks = 20'000'000'000'000;
    MeasuredAnchor start{{start_ticks, 1'000'000'000, 5'000'000'000}, 10};
    MeasuredAnchor stop{{start_ticks + 2'000'000'000, 2'000'000'000, 6'000'000'000}, 10};
    const ClockFit fit = ClockFit::from_anchors(life, start, stop);
    CHECK(std::abs(fit.ns_per_tick() - rate) < 1e-6);
}

CHECK_MAIN
