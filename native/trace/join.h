// Traces that one process recorded one after another, such as the cycles of a profile, become one.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/merge.h"
#include "trace/trace.h"
#include "trace/track_index.h"

namespace kinetograph::trace {

// As the Merger does it, and with each process, thread and device once: they are the same in all sources.
class Joiner {
public:
    Joiner() : index_(places_) {}
    Joiner(const Joiner&) = delete;

    // The source keeps what it has.
    void append(const Trace& source);
    Trace finish();

private:
    void take_processes(const Trace& source);
    uint32_t place_of(const Trace& source, const Track& track, size_t first_track);

    Merger merger_;
    size_t sources_ = 0;
    Trace places_;  // its processes and tracks only
    TrackIndex index_;
    std::vector<uint32_t> joined_;  // the place of each track of the Merger
};

}  // namespace kinetograph::trace
