#include "trace/join.h"

#include <string>
#include <utility>

namespace kinetograph::trace {

void Joiner::append(const Trace& source) {
    merger_.append(source, {"cycle " + std::to_string(++sources_), "", false});
    take_processes(source);
    const size_t first_track = joined_.size();
    for (const Track& track : source.tracks) joined_.push_back(place_of(source, track, first_track));
}

void Joiner::take_processes(const Trace& source) {
    for (const Process& process : source.processes) places_.processes[index_.process(process.pid)] = process;
}

uint32_t Joiner::place_of(const Trace& source, const Track& track, size_t first_track) {
    const uint32_t place = index_.track(source.processes[track.process].pid, track.tid);
    Track& joined = places_.tracks[place];
    const uint32_t process = joined.process;
    joined = track;
    joined.process = process;
    if (track.parent >= 0) joined.parent = int32_t(joined_[first_track + size_t(track.parent)]);
    return place;
}

Trace Joiner::finish() {
    Trace joined = merger_.finish();
    for (uint32_t& track : joined.track) track = joined_[track];
    joined.processes = std::move(places_.processes);
    joined.tracks = std::move(places_.tracks);
    sort_events(joined);
    return joined;
}

}  // namespace kinetograph::trace
