#include "format/lanes.h"

#include <random>
#include <utility>

#include "check.h"

using kinetograph::format::Lanes;

namespace {

using Closed = std::vector<std::pair<size_t, int64_t>>;

// As one would say it: look at one lane after the other.
class PlainLanes {
public:
    explicit PlainLanes(size_t deepest) : deepest_(deepest) {}

    size_t lane_of(int64_t start_ns, int64_t end_ns) {
        size_t lane = 0;
        while (lane < open_.size() && !fits(open_[lane], start_ns, end_ns)) ++lane;
        if (lane == open_.size()) open_.emplace_back();
        open_[lane].push_back(end_ns);
        return lane;
    }
    Closed close_until(int64_t time_ns) {
        Closed closed;
        while (true) {
            size_t next = open_.size();
            for (size_t lane = 0; lane < open_.size(); ++lane) {
                if (open_[lane].empty() || open_[lane].back() > time_ns) continue;
                if (next == open_.size() || open_[lane].back() < open_[next].back()) next = lane;
            }
            if (next == open_.size()) return closed;
            closed.emplace_back(next, open_[next].back());
            open_[next].pop_back();
        }
    }

private:
    bool fits(std::vector<int64_t>& ends, int64_t start_ns, int64_t end_ns) const {
        while (!ends.empty() && ends.back() <= start_ns) ends.pop_back();
        return ends.empty() || (ends.back() >= end_ns && ends.size() < deepest_);
    }

    const size_t deepest_;
    std::vector<std::vector<int64_t>> open_;
};

Closed closed_until(Lanes& lanes, int64_t time_ns) {
    Closed closed;
    lanes.close_until(time_ns, [&](size_t lane, int64_t end_ns) { closed.emplace_back(lane, end_ns); });
    return closed;
}

// Both ways to use them: with ends that are asked for, and without.
void check_like_plain_lanes(std::mt19937& random, size_t deepest, bool asks_for_ends) {
    Lanes lanes(deepest);
    for (int track = 0; track < 5; ++track) {
        lanes.enter_track();
        PlainLanes plain(deepest);
        int64_t start_ns = 0;
        for (int span = 0; span < 200; ++span) {
            start_ns += random() % 4;
            const int64_t end_ns = start_ns + random() % 40;
            if (asks_for_ends) CHECK(closed_until(lanes, start_ns) == plain.close_until(start_ns));
            CHECK(lanes.lane_of(start_ns, end_ns) == plain.lane_of(start_ns, end_ns));
        }
        if (asks_for_ends) CHECK(closed_until(lanes, INT64_MAX) == plain.close_until(INT64_MAX));
    }
}

}  // namespace

TEST(a_span_lies_on_the_lowest_lane_where_it_nests) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        for (const size_t deepest : {size_t(1), size_t(3), SIZE_MAX}) {
            check_like_plain_lanes(random, deepest, false);
            check_like_plain_lanes(random, deepest, true);
        }
    }
}

TEST(a_span_that_never_ends_is_closed_too) {
    Lanes lanes;
    CHECK(lanes.lane_of(0, INT64_MAX) == 0);
    CHECK(lanes.lane_of(1, 5) == 0);
    CHECK(closed_until(lanes, INT64_MAX).size() == 2);
}

// Looking at every lane for every span takes minutes here.
TEST(many_spans_may_cross) {
    constexpr int64_t spans = 400'000;
    Lanes lanes;
    for (int64_t i = 0; i < spans; ++i) CHECK(lanes.lane_of(i, i + spans) == size_t(i));
    int64_t closed = 0;
    lanes.close_until(INT64_MAX, [&](size_t lane, int64_t) { CHECK(lane == size_t(closed++)); });
    CHECK(closed == spans);
}

CHECK_MAIN
