#include "intra_kernel/segment_clock.h"

#include <algorithm>

namespace kinetograph::intra_kernel {

double RateFinder::ratio(ClockPair from, ClockPair to) {
    const uint64_t span_ns = to.globaltimer - from.globaltimer;
    if (to.globaltimer <= from.globaltimer || span_ns < least_span_ns) return 0;
    return double(to.clock - from.clock) / double(span_ns);
}

void RateFinder::add(ClockPair pair) {
    if (pair.globaltimer < first_.globaltimer || pair.globaltimer - first_.globaltimer > longest_span_ns)
        return;
    last_ = pair;
}

void RateFinder::add_short_one() {
    const uint64_t cycles = uint32_t(last_.clock - first_.clock);
    const bool is_plausible = cycles <= 4 * (span_ns() + least_span_ns);
    if (!is_plausible) return;
    short_ns_ += span_ns();
    short_cycles_ += cycles;
}

double RateFinder::rate_of_short_ones() const {
    return short_ns_ < least_span_ns ? last_resort_ : double(short_cycles_) / double(short_ns_);
}

void RateFinder::end() {
    if (span_ns() < least_span_ns) return add_short_one();
    const double rate = ratio(first_, last_);
    if (rate <= 0 || span_ns() <= best_span_ns_) return;
    best_span_ns_ = span_ns();
    best_rate_ = rate;
}

int64_t SegmentClock::to_ns(uint32_t clock, uint64_t globaltimer) {
    // A cycle counts as a nanosecond where nothing tells better: the order is right then, and little else.
    const double passed_ns = double(uint32_t(clock - anchor_.clock)) / (rate_ > 0 ? rate_ : 1);
    uint64_t time_ns = std::min(anchor_.globaltimer + uint64_t(passed_ns), latest_ns);
    if (globaltimer != 0) {
        const uint64_t told_ns = std::min(globaltimer, latest_ns);
        const uint64_t error_ns = time_ns > told_ns ? time_ns - told_ns : told_ns - time_ns;
        if (error_ns > tolerance_ns) time_ns = told_ns;
        // Anew long before the clock wraps, too.
        if (error_ns > tolerance_ns || passed_ns > 1e8) anchor_ = {clock, time_ns};
    }
    return last_ns_ = std::max(last_ns_, int64_t(time_ns));
}

}  // namespace kinetograph::intra_kernel
