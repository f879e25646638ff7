// Which lane of a thread ran when, for calls that are told of the thread as a whole.
//
// Tasks of asyncio take turns on their thread, and nobody records when they do. What shows is this: where a
// scope begins or ends, its lane runs. It is taken to go on until another lane shows that it does, or until
// it has no open scope; then it is the one that ran last among those that have. Where the next to show itself
// is another one that had a scope open all the time, that may have gone on long before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trace/clip.h"

namespace kinetograph::trace {

class RunningLanes {
public:
    // Of one thread, in the order in which scopes ended.
    void see_scope(uint16_t lane, const Clipped& scope);
    void see_instant(uint16_t lane, uint64_t tick) { moments_.push_back({tick, lane, 0}); }
    // All of that thread has been seen.
    void finish(int32_t tid, const std::function<uint32_t(uint16_t lane)>& track_of);

    // Nothing for a thread that has one lane only, or had not begun.
    std::optional<uint32_t> track(int32_t tid, uint64_t tick) const;
    // Whether another lane may have run by then.
    bool is_doubtful(int32_t tid, uint64_t tick) const;

private:
    struct Moment {
        uint64_t tick;
        uint16_t lane;
        int16_t change;  // of the number of its open scopes
    };
    struct Turn {
        uint64_t tick;
        uint32_t track;
    };
    struct Doubt {
        uint64_t since, until;
    };

    std::vector<Moment> moments_;
    // By thread, in order.
    std::unordered_map<int32_t, std::vector<Turn>> turns_;
    std::unordered_map<int32_t, std::vector<Doubt>> doubts_;
};

}  // namespace kinetograph::trace
