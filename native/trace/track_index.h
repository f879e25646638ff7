// Finds, or adds, the track of a pid and tid: for those who fill a trace from text or from Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/trace.h"

namespace kinetograph::trace {

class TrackIndex {
public:
    // Knows the tracks the trace has now. It must not outlive the trace, nor others add tracks meanwhile.
    explicit TrackIndex(Trace& trace);

    // Both arguments as they stand in JSON.
    uint32_t process(std::string_view pid);
    uint32_t track(std::string_view pid, std::string_view tid);
    // From now on this tid means that track. No effect when the tid has a track already.
    void alias(std::string_view pid, std::string_view tid, uint32_t track);

private:
    static std::string key(std::string_view pid, std::string_view tid);

    Trace& trace_;
    std::unordered_map<std::string, uint32_t> processes_;
    std::unordered_map<std::string, uint32_t> tracks_;
    // Neighbouring events mostly share their track, so that the last answer is mostly the next one.
    std::string last_pid_, last_tid_;
    uint32_t last_track_ = 0;
    bool has_last_ = false;
};

}  // namespace kinetograph::trace
