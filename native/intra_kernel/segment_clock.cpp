#include "intra_kernel/segment_clock.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kinetograph::intra_kernel {

double RateFinder::ratio(ClockPair from, ClockPair to) {
    return double(to.clock - from.clock) / double(to.globaltimer - from.globaltimer);
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
    ++short_ones_;
    short_ns_ += span_ns();
    short_cycles_ += cycles;
    step_ns_ = std::gcd(step_ns_, span_ns());
}

double RateFinder::rate_of_short_ones() const {
    return short_ns_ < least_span_ns ? last_resort_ : double(short_cycles_) / double(short_ns_);
}

// By more than the steps of the globaltimer leave open. Others may have counted while the clock stood still.
bool RateFinder::contradicts_short_ones(double rate) const {
    if (short_ns_ < least_span_ns || short_cycles_ == 0) return false;
    const double doubt = 1.25 * double(step_ns_) * std::sqrt(double(short_ones_)) / double(short_ns_);
    return std::abs(rate / rate_of_short_ones() - 1) > std::max(0.01, doubt);
}

double RateFinder::rate() const {
    if (span_ns() >= long_span_ns) return ratio(first_, last_);
    if (best_rate_ > 0) return best_rate_;
    return usual_rate_ > 0 && !contradicts_short_ones(usual_rate_) ? usual_rate_ : rate_of_short_ones();
}

void RateFinder::end() {
    if (span_ns() < long_span_ns) return add_short_one();
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
