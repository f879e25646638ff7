// Which row of the trace a track of the file is: process and thread, as JSON would name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/perfetto_sequence.h"
#include "format/trace_filler.h"

namespace kinetograph::format::perfetto {

struct Place {
    std::string pid = "0", tid = "0";  // as they stand in JSON
};

class Places {
public:
    explicit Places(TraceFiller& filler) : filler_(filler) {}

    void describe(const ProtoField& descriptor);
    // Of a file of ours: tracks have numbers in the order that the rows of names tell.
    void number_tracks();

    const Place& of(uint64_t uuid);
    bool is_about(uint64_t uuid) const;
    // Empty for a track without one, or without a descriptor.
    const std::string& name_of(uint64_t uuid) const;

private:
    struct Track {
        std::string name, process_name, labels, thread_name;
        uint64_t parent = 0;
        std::optional<uint64_t> pid, tid;
        std::optional<uint64_t> process_pid;
    };
    static Track read(const ProtoField& descriptor, uint64_t& uuid);
    static void read_process(const ProtoField& process, Track& track);
    static void read_thread(const ProtoField& thread, Track& track);
    Place find(uint64_t uuid);
    Place foreign(uint64_t uuid);
    std::string pid_of(uint64_t uuid) const;
    void name(std::string_view what, const Place& place, const std::string& text);

    TraceFiller& filler_;
    std::unordered_map<uint64_t, Track> tracks_;
    std::unordered_map<std::string, uint64_t> processes_;  // tracks, by pid as it stands in JSON
    std::unordered_map<uint64_t, Place> places_;
    uint64_t first_numbered_ = 0, last_numbered_ = 0;
};

}  // namespace kinetograph::format::perfetto
