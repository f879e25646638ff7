// Viewers draw the spans of one row as a stack and drop, or draw wrongly, those that cross. Lanes are the
// extra rows that hold them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "format/lane_tree.h"

namespace kinetograph::format {

// Gives each span of a track, in order of start, the first lane where it nests.
class Lanes {
public:
    // Viewers have limits, too, to how deep spans may nest.
    explicit Lanes(size_t deepest = SIZE_MAX) : deepest_(deepest) {}

    void enter_track() {
        for (size_t lane = 0; lane < used_; ++lane) open_ends_[lane].clear();
        used_ = 0;
        tree_.clear();
    }
    size_t lane_of(int64_t start_ns, int64_t end_ns) {
        close_until(start_ns, [](size_t, int64_t) {});
        // A lane without a span ends never.
        end_ns = std::min(end_ns, LaneTree::never - 1);
        const size_t lane = tree_.first_that_fits(end_ns);
        used_ = std::max(used_, lane + 1);
        if (lane >= open_ends_.size()) open_ends_.resize(lane + 1);
        open_ends_[lane].push_back(end_ns);
        update(lane);
        return lane;
    }
    // Ends what is open up to this time, in order of time: calls close(lane, end_ns) for each span.
    template <class Close>
    void close_until(int64_t time_ns, Close&& close) {
        while (tree_.next_end_ns() <= std::min(time_ns, LaneTree::never - 1)) {
            const size_t lane = tree_.first_to_end();
            const int64_t end_ns = tree_.next_end_ns();
            open_ends_[lane].pop_back();
            update(lane);
            close(lane, end_ns);
        }
    }

private:
    void update(size_t lane) {
        const std::vector<int64_t>& ends = open_ends_[lane];
        const int64_t end_ns = ends.empty() ? LaneTree::never : ends.back();
        tree_.set(lane, {end_ns, ends.size() < deepest_ ? end_ns : INT64_MIN});
    }

    const size_t deepest_;
    std::vector<std::vector<int64_t>> open_ends_;
    size_t used_ = 0;  // lanes of this track; what lies behind is kept for its memory
    LaneTree tree_;
};

}  // namespace kinetograph::format
