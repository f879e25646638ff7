// From the clock of an SM to nanoseconds, within one segment.
//
// The globaltimer steps by 32 ns or more, the clock by a cycle, but at a rate that nobody tells. Both are
// read together at starts, so their differences give the rate, and the clock the time between steps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kinetograph::intra_kernel {

struct ClockPair {
    uint32_t clock;
    uint64_t globaltimer;
};

// Cycles per nanosecond, by the two pairs that lie farthest apart; 0 where there are none.
class RateFinder {
public:
    // `usual_rate` holds where nothing that is seen is long enough.
    explicit RateFinder(double usual_rate = 0) : best_rate_(usual_rate) {}
    void begin(ClockPair first) { first_ = last_ = first; }
    void add(ClockPair pair);

    // Of the segment, or, where that is short, of the longest one seen.
    double rate() const { return span_ns() < long_span_ns ? best_rate() : ratio(first_, last_); }
    // Where all are short, their sums tell: steps of the globaltimer that are missed and met cancel out.
    double best_rate() const { return best_rate_ > 0 ? best_rate_ : ratio(sum_cycles_, sum_ns_); }
    // To be called when a segment is over.
    void end();

private:
    // Shorter ones hold too few steps of the globaltimer.
    static constexpr uint64_t least_span_ns = 2'000;
    static constexpr uint64_t long_span_ns = 100'000;
    // The clock must not have wrapped, at four GHz.
    static constexpr uint64_t longest_span_ns = 1'000'000'000;
    static double ratio(uint64_t cycles, uint64_t ns) {
        return ns < least_span_ns ? 0 : double(cycles) / double(ns);
    }
    static double ratio(ClockPair from, ClockPair to);
    uint64_t span_ns() const { return last_.globaltimer - first_.globaltimer; }

    ClockPair first_{}, last_{};
    uint64_t best_span_ns_ = 0;
    double best_rate_ = 0;
    uint64_t sum_cycles_ = 0, sum_ns_ = 0;  // of all segments
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
    // Whatever garbage says: sums and differences of two times are still times.
    static constexpr uint64_t latest_ns = uint64_t(1) << 61;

    ClockPair anchor_;
    double rate_;
    int64_t last_ns_;
};

}  // namespace kinetograph::intra_kernel
