// The clock of CUPTI's records, in our ticks.
//
// CUPTI asks us for the time where it lets us (register_timestamp); then its times are ticks already.
// Otherwise, and in records from before it did, they are nanoseconds of CLOCK_REALTIME. The two are years
// apart, so that each time tells by itself which it is.
//
// The wall clock is slewed and stepped, and a record may be read long after it was made: so both clocks are
// looked at now and then, and what lies between two looks is converted by those two.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace kinetograph::collect::cupti {

class ClockMap {
public:
    ClockMap() {
        looks_.reserve(most_looks);
        anchor();
    }

    // Looks at both clocks.
    void anchor() noexcept {
        const base::ClockAnchor now = base::quick_anchor();
        const base::MeasuredAnchor& begin = base::process_anchor();
        const double ns = double(now.raw_ns - begin.raw_ns);
        ticks_per_ns_ = ns > 0 ? double(now.ticks - begin.ticks) / ns : 1;
        if (looks_.size() > 1 && now.raw_ns - looks_[looks_.size() - 2].raw_ns < between_looks_ns)
            looks_.back() = now;
        else
            add(now);
    }

    bool is_wall(uint64_t time) const {
        const base::ClockAnchor& now = looks_.back();
        return distance(time, uint64_t(now.wall_ns)) < distance(time, now.ticks);
    }

    // The newest first: most records are new, and of times that a step back has brought twice, these.
    uint64_t ticks(uint64_t time) const {
        if (time == 0 || !is_wall(time)) return time;
        const auto wall = int64_t(time);
        const int64_t ahead = wall - looks_.back().wall_ns;
        if (ahead >= 0 && ahead <= error_of_devices_ns) return by(looks_.back(), wall);
        for (size_t end = looks_.size() - 1; end > 0; --end)
            if (const auto found = between(looks_[end - 1], looks_[end], wall)) return *found;
        return by(wall < looks_.front().wall_ns ? looks_.front() : looks_.back(), wall);
    }

private:
    static constexpr int64_t between_looks_ns = 100'000'000;
    static constexpr size_t most_looks = 4096;
    static constexpr int64_t error_of_devices_ns = 1'000'000;  // whose times CUPTI turns into the host's
    // What the system slews its clock by at most, and what two looks may be off.
    static constexpr double most_slew = 1e-3, error_ns = 10'000;

    static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

    void add(const base::ClockAnchor& look) {
        if (looks_.size() == most_looks) {
            for (size_t i = 0; i < most_looks / 2; ++i) looks_[i] = looks_[2 * i];
            looks_.resize(most_looks / 2);
        }
        looks_.push_back(look);
    }

    uint64_t by(const base::ClockAnchor& look, int64_t wall) const {
        return uint64_t(int64_t(look.ticks) + std::llround(double(wall - look.wall_ns) * ticks_per_ns_));
    }

    std::optional<uint64_t> between(const base::ClockAnchor& begin, const base::ClockAnchor& end,
                                    int64_t wall) const {
        const double wall_ns = double(end.wall_ns - begin.wall_ns);
        const double ns = double(end.ticks - begin.ticks) / ticks_per_ns_;
        if (std::abs(wall_ns - ns) <= most_slew * ns + error_ns) {
            if (wall < begin.wall_ns || wall > end.wall_ns) return std::nullopt;
            const double part = wall_ns > 0 ? double(wall - begin.wall_ns) / wall_ns : 0;
            return begin.ticks + uint64_t(std::llround(part * double(end.ticks - begin.ticks)));
        }
        // It was stepped in between: of the two, that which leads there.
        for (const base::ClockAnchor* look : {&end, &begin}) {
            const uint64_t found = by(*look, wall);
            if (found >= begin.ticks && found <= end.ticks) return found;
        }
        return std::nullopt;
    }

    std::vector<base::ClockAnchor> looks_;  // oldest first, never empty
    double ticks_per_ns_ = 1;
};

}  // namespace kinetograph::collect::cupti
