// From the clock of an SM to nanoseconds, within one segment.
//
// The globaltimer steps by 32 ns or more, the clock by a cycle, but at a rate that nobody tells. Both are
// read together at starts, so their differences give the rate, and the clock the time between steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace kinetograph::intra_kernel {

struct ClockPair {
    uint32_t clock;
    uint64_t globaltimer;
};

// Cycles per nanosecond, by the two pairs that lie farthest apart, or where those are close to each other, by
// what others know, or by all such segments together.
class RateFinder {
public:
    // The rates where segments are short, and where nothing tells one; 0 if not known.
    explicit RateFinder(double usual_rate = 0, double last_resort = 0)
        : usual_rate_(usual_rate), last_resort_(last_resort) {}
    void begin(ClockPair first) { first_ = last_ = first; }
    void add(ClockPair pair);

    // Of the segment, or, where that is short, of the longest one seen.
    double rate() const;
    // The segment tells others of its rate from now on, too.
    void end();

private:
    // Where all that was seen is shorter, it holds too few steps of the globaltimer.
    static constexpr uint64_t least_span_ns = 2'000;
    // One alone tells its rate, even if the globaltimer steps by a microsecond.
    static constexpr uint64_t long_span_ns = 100'000;
    // The clock must not have wrapped, at four GHz.
    static constexpr uint64_t longest_span_ns = 1'000'000'000;
    static double ratio(ClockPair from, ClockPair to);
    uint64_t span_ns() const { return last_.globaltimer - first_.globaltimer; }
    void add_short_one();
    double rate_of_short_ones() const;
    bool contradicts_short_ones(double rate) const;

    double usual_rate_, last_resort_;
    ClockPair first_{}, last_{};
    uint64_t best_span_ns_ = 0;
    double best_rate_ = 0;
    // Of segments of less than `long_span_ns`: the steps they begin and end in are chance, and even out.
    uint64_t short_ones_ = 0, short_ns_ = 0, short_cycles_ = 0;
    uint64_t step_ns_ = 0;  // of the globaltimer, as far as they show it
};

// Times never run back, and never stray more than `tolerance_ns` from the globaltimer.
class SegmentClock {
public:
    SegmentClock(ClockPair claimed, double cycles_per_ns)
        : anchor_{claimed.clock, std::min(claimed.globaltimer, latest_ns)},
          rate_(cycles_per_ns),
          last_ns_(int64_t(anchor_.globaltimer)) {}

    // The globaltimer is 0 where none was read.
    int64_t to_ns(uint32_t clock, uint64_t globaltimer);

private:
    static constexpr uint64_t tolerance_ns = 1'000;
    // Whatever garbage says.
    static constexpr uint64_t latest_ns = uint64_t(base::latest_ns);

    ClockPair anchor_;
    double rate_;
    int64_t last_ns_;
};

}  // namespace kinetograph::intra_kernel
