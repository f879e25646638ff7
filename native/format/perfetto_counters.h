// Counters: one track per process, name and series.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/perfetto_packets.h"
#include "format/perfetto_tracks.h"
#include "trace/trace.h"

namespace kinetograph::format::perfetto {

// An event may have several series: the first is the event's own value, the others ride on it.
class Counters {
public:
    Counters(const trace::Trace& trace, Packets& packets, Tracks& tracks)
        : trace_(trace), packets_(packets), tracks_(tracks) {}

    void write(size_t row);

private:
    struct Series {
        uint64_t track;
        std::string_view token;
    };

    void find_series(size_t row);
    void put_first(const Series& series);
    void put_others();

    const trace::Trace& trace_;
    Packets& packets_;
    Tracks& tracks_;
    std::vector<Series> series_;
    std::string exact_;   // numbers that a counter cannot hold exactly. Before the others, as they are read
    std::string others_;  // arguments that are no numbers
};

// The series called "value" needs no name: its track is called as the counter is.
inline constexpr std::string_view usual_series = "value";

}  // namespace kinetograph::format::perfetto
