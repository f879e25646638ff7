#include "trace/track_index.h"

namespace kinetograph::trace {

TrackIndex::TrackIndex(Trace& trace) : trace_(trace) {
    for (uint32_t i = 0; i < trace.processes.size(); ++i) processes_.emplace(trace.processes[i].pid, i);
    for (uint32_t i = 0; i < trace.tracks.size(); ++i) {
        const Track& track = trace.tracks[i];
        tracks_.emplace(key(trace.processes[track.process].pid, track.tid), i);
    }
}

std::string TrackIndex::key(std::string_view pid, std::string_view tid) {
    std::string joined(pid);
    joined += '\0';
    joined += tid;
    return joined;
}

uint32_t TrackIndex::process(std::string_view pid) {
    const auto [found, is_new] = processes_.try_emplace(std::string(pid), trace_.processes.size());
    if (is_new) trace_.processes.push_back({std::string(pid), "", "", ""});
    return found->second;
}

uint32_t TrackIndex::track(std::string_view pid, std::string_view tid) {
    if (has_last_ && tid == last_tid_ && pid == last_pid_) return last_track_;
    const auto [found, is_new] = tracks_.try_emplace(key(pid, tid), trace_.tracks.size());
    if (is_new) {
        Track track;
        track.process = process(pid);
        track.tid = tid;
        trace_.tracks.push_back(std::move(track));
    }
    last_pid_ = pid;
    last_tid_ = tid;
    has_last_ = true;
    return last_track_ = found->second;
}

void TrackIndex::alias(std::string_view pid, std::string_view tid, uint32_t track) {
    tracks_.try_emplace(key(pid, tid), track);
}

}  // namespace kinetograph::trace
