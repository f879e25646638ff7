// The names and places of processes and tracks, as Kineto's M events tell them. Both formats keep them so: in
// JSON they are events, in Perfetto's format one text for our own reader.
#pragma once

#include <string>

#include "trace/trace.h"

namespace kinetograph::format {

class NameRows {
public:
    // `ts` as it stands in JSON.
    NameRows(const trace::Trace& trace, std::string ts) : trace_(trace), ts_(std::move(ts)) {}

    // One or more events, separated as elements of an array.
    std::string of_process(const trace::Process& process) const;
    // Lane 0 is the track itself; other lanes hold its crossing spans, under a tid of their own.
    std::string of_track(const trace::Track& track, size_t lane, const std::string& tid) const;

private:
    std::string row(std::string_view what, const std::string& place, const std::string& members) const;
    std::string track_members(const trace::Track& track, size_t lane) const;

    const trace::Trace& trace_;
    const std::string ts_;
};

std::string lane_name(const trace::Track& track, size_t lane);

}  // namespace kinetograph::format
