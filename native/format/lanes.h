// Viewers draw the spans of one row as a stack and drop, or draw wrongly, those that cross. Lanes are the
// extra rows that hold them.
#pragma once

#include <cstdint>
#include <vector>

namespace kinetograph::format {

// Gives each span of a track, in order of start, the first lane where it nests.
class Lanes {
public:
    void enter_track() {
        for (auto& open : open_ends_) open.clear();
    }
    size_t lane_of(int64_t start_ns, int64_t end_ns) {
        for (size_t lane = 0; lane < open_ends_.size(); ++lane) {
            if (fits(open_ends_[lane], start_ns, end_ns)) return lane;
        }
        open_ends_.push_back({end_ns});
        return open_ends_.size() - 1;
    }

private:
    static bool fits(std::vector<int64_t>& ends, int64_t start_ns, int64_t end_ns) {
        while (!ends.empty() && ends.back() <= start_ns) ends.pop_back();
        if (!ends.empty() && ends.back() < end_ns) return false;
        ends.push_back(end_ns);
        return true;
    }
    std::vector<std::vector<int64_t>> open_ends_;
};

}  // namespace kinetograph::format
