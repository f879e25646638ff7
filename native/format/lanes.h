// Viewers draw the spans of one row as a stack and drop, or draw wrongly, those that cross. Lanes are the
// extra rows that hold them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kinetograph::format {

// Gives each span of a track, in order of start, the first lane where it nests.
class Lanes {
public:
    // Viewers have limits, too, to how deep spans may nest.
    explicit Lanes(size_t deepest = SIZE_MAX) : deepest_(deepest) {}

    void enter_track() {
        for (size_t lane = 0; lane < used_; ++lane) open_ends_[lane].clear();
        used_ = 0;
        next_end_ns_ = INT64_MAX;
    }
    size_t lane_of(int64_t start_ns, int64_t end_ns) {
        size_t lane = 0;
        while (lane < used_ && !fits(open_ends_[lane], start_ns, end_ns)) ++lane;
        if (lane == used_) ++used_;
        if (lane == open_ends_.size()) open_ends_.emplace_back();
        open_ends_[lane].push_back(end_ns);
        next_end_ns_ = std::min(next_end_ns_, end_ns);
        return lane;
    }
    // Ends what is open up to this time, in order of time: calls close(lane, end_ns) for each span.
    template <class Close>
    void close_until(int64_t time_ns, Close&& close) {
        while (next_end_ns_ <= time_ns) {
            const size_t lane = next_lane();
            next_end_ns_ = lane == used_ ? INT64_MAX : open_ends_[lane].back();
            if (lane == used_ || next_end_ns_ > time_ns) return;
            open_ends_[lane].pop_back();
            close(lane, next_end_ns_);
        }
    }

private:
    bool fits(std::vector<int64_t>& ends, int64_t start_ns, int64_t end_ns) const {
        while (!ends.empty() && ends.back() <= start_ns) ends.pop_back();
        return ends.empty() || (ends.back() >= end_ns && ends.size() < deepest_);
    }
    // The one whose innermost span ends first; `used_` when none is open.
    size_t next_lane() const {
        size_t next = used_;
        for (size_t lane = 0; lane < used_; ++lane) {
            if (open_ends_[lane].empty()) continue;
            if (next == used_ || open_ends_[lane].back() < open_ends_[next].back()) next = lane;
        }
        return next;
    }

    const size_t deepest_;
    std::vector<std::vector<int64_t>> open_ends_;
    size_t used_ = 0;                  // lanes of this track; what lies behind is kept for its memory
    int64_t next_end_ns_ = INT64_MAX;  // no span that is open ends before this
};

}  // namespace kinetograph::format
