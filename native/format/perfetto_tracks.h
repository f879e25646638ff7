// The tree of tracks: processes, their threads, the tasks of a thread, streams of devices, counters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/perfetto_packets.h"
#include "trace/trace.h"

namespace kinetograph::format::perfetto {

// Uuids count from 1, which keeps them short: processes, tracks, the track of the file's own notes, and then
// lanes and counters as they are met. The reader relies on that order.
class Tracks {
public:
    Tracks(const trace::Trace& trace, Packets& packets);

    uint64_t of_process(uint32_t process) const { return 1 + process; }
    uint64_t of_track(uint32_t track) const { return 1 + trace_.processes.size() + track; }
    uint64_t about() const { return of_track(static_cast<uint32_t>(trace_.tracks.size())); }
    void describe_all();

    // Both are described when they are asked for the first time. Lanes count from 1.
    uint64_t of_lane(uint32_t track, size_t lane);
    uint64_t of_counter(uint32_t process, std::string_view name);

private:
    void describe_process(uint32_t process);
    void describe_track(uint32_t track);
    void describe_thread(uint32_t track, uint64_t pid, uint64_t tid);
    void describe_child(uint64_t uuid, uint64_t parent, std::string_view name, uint64_t rank);

    const trace::Trace& trace_;
    Packets& packets_;
    uint64_t next_;
    uint32_t lanes_of_ = UINT32_MAX;  // the track whose lanes these are
    std::vector<uint64_t> lanes_;
    std::unordered_map<std::string, uint64_t> counters_;
    std::string scratch_;
};

}  // namespace kinetograph::format::perfetto
