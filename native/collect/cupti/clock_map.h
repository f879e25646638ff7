// The clock of CUPTI's records, in our ticks.
//
// CUPTI asks us for the time where it lets us (register_timestamp); then its times are ticks already.
// Otherwise, and in records from before it did, they are nanoseconds of CLOCK_REALTIME. The two are years
// apart, so that each time tells by itself which it is.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/clock.h"

namespace kinetograph::collect::cupti {

class ClockMap {
public:
    // Now, so that times around now are converted well. The rate is that of the life of the process.
    void anchor() {
        here_ = base::quick_anchor();
        const base::MeasuredAnchor& begin = base::process_anchor();
        const double ns = double(here_.raw_ns - begin.raw_ns);
        ticks_per_ns_ = ns > 0 ? double(here_.ticks - begin.ticks) / ns : 1;
    }

    bool is_wall(uint64_t time) const {
        return distance(time, uint64_t(here_.wall_ns)) < distance(time, here_.ticks);
    }

    uint64_t ticks(uint64_t time) const {
        if (time == 0 || !is_wall(time)) return time;
        const double behind = double(int64_t(time) - here_.wall_ns) * ticks_per_ns_;
        return uint64_t(int64_t(here_.ticks) + std::llround(behind));
    }

private:
    static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

    base::ClockAnchor here_;
    double ticks_per_ns_ = 1;
};

}  // namespace kinetograph::collect::cupti
