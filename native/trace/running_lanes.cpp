#include "trace/running_lanes.h"

#include <algorithm>
#include <map>

namespace kinetograph::trace {

namespace {

// Lanes with open scopes, the one that ran last at the end.
class OpenLanes {
public:
    void see(uint16_t lane, int change) {
        State& state = states_[lane];
        by_last_run_.erase(state.last_run);
        state.last_run = ++runs_;
        state.open += change;
        if (state.open > 0) by_last_run_[state.last_run] = lane;
    }
    // The thread's own where none has a scope.
    uint16_t running() const { return by_last_run_.empty() ? 0 : by_last_run_.rbegin()->second; }
    // Beside one that has shown that it runs.
    bool waits(uint16_t lane) const {
        const auto state = states_.find(lane);
        return !by_last_run_.empty() && lane != running() && state != states_.end() && state->second.open > 0;
    }

private:
    struct State {
        uint64_t last_run = 0;
        int64_t open = 0;
    };
    std::unordered_map<uint16_t, State> states_;
    std::map<uint64_t, uint16_t> by_last_run_;
    uint64_t runs_ = 0;
};

}  // namespace

void RunningLanes::see_scope(uint16_t lane, const Clipped& scope) {
    moments_.push_back({scope.start, lane, 1});
    moments_.push_back({scope.end, lane, -1});
}

void RunningLanes::finish(int32_t tid, const std::function<uint32_t(uint16_t lane)>& track_of) {
    std::stable_sort(moments_.begin(), moments_.end(),
                     [](const Moment& a, const Moment& b) { return a.tick < b.tick; });
    std::vector<Turn>& turns = turns_[tid];
    std::vector<Doubt>& doubts = doubts_[tid];
    OpenLanes lanes;
    uint64_t last = 0;
    for (const Moment& moment : moments_) {
        if (lanes.waits(moment.lane)) doubts.push_back({last, moment.tick});
        last = moment.tick;
        lanes.see(moment.lane, moment.change);
        const uint32_t track = track_of(lanes.running());
        if (turns.empty() || turns.back().track != track) turns.push_back({moment.tick, track});
    }
    moments_.clear();
}

std::optional<uint32_t> RunningLanes::track(int32_t tid, uint64_t tick) const {
    const auto thread = turns_.find(tid);
    if (thread == turns_.end()) return {};
    const auto next = std::upper_bound(thread->second.begin(), thread->second.end(), tick,
                                       [](uint64_t wanted, const Turn& turn) { return wanted < turn.tick; });
    if (next == thread->second.begin()) return {};
    return std::prev(next)->track;
}

bool RunningLanes::is_doubtful(int32_t tid, uint64_t tick) const {
    const auto thread = doubts_.find(tid);
    if (thread == doubts_.end()) return false;
    const auto next =
        std::upper_bound(thread->second.begin(), thread->second.end(), tick,
                         [](uint64_t wanted, const Doubt& doubt) { return wanted < doubt.since; });
    return next != thread->second.begin() && tick < std::prev(next)->until;
}

}  // namespace kinetograph::trace
