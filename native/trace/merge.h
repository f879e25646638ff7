// Traces of many processes, of one machine or of many, become one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::trace {

// Linear: rows are copied behind those that are there, and since every source brings tracks of its own, they
// stay in order. Of columns in a file only the stretch at hand is in memory.
//
// Pids and tids are made unique. A process that follows another of the same pid on the same host (it executed
// a program) shares its row; a process of another host, and a device of another process, get a pid of their
// own, and their label says whose they are. Correlation ids and sequence numbers go on counting from one
// source to the next, for they join events across tracks.
class Merger {
public:
    explicit Merger(const Storage& storage = {}) : merged_(storage) {}

    struct Origin {
        std::string whose;  // in notes and labels: "process 4711", "rank 3"
        std::string host;
        bool is_labelled = false;  // say whose they are with every process, not only where pids clash
    };
    // The source keeps what it has; its pages are let go of if they live in a file.
    void append(const Trace& source, const Origin& origin);
    Trace finish();

private:
    struct KnownProcess {
        std::string pid;
        Origin origin;
        int64_t start_ns, end_ns;
        bool is_device;
        bool is_renamed;
    };
    // What the numbers of one source are in the merged trace.
    struct Mapping {
        std::vector<uint32_t> names;
        std::vector<uint8_t> categories;
        std::vector<uint32_t> processes;
        uint32_t first_track;
        size_t first_row;
        uint64_t first_text;
        int64_t correlations_before, sequences_before;
    };
    struct FoldedNote {
        Note first;
        std::string whose;
        size_t sources;
    };

    Mapping map(const Trace& source, const Origin& origin);
    uint32_t process(const Trace& source, uint32_t index, const Origin& origin);
    bool continues(const KnownProcess& known, const KnownProcess& next) const;
    void continue_process(uint32_t index, const Process& next, int64_t end_ns);
    std::string free_pid(const std::string& pid);
    std::string free_tid(uint32_t process, const std::string& tid);
    void append_tracks(const Trace& source, const Mapping& mapping);
    void append_rows(const Trace& source, const Mapping& mapping);
    void append_stretch(const Trace& source, const Mapping& mapping, size_t begin, size_t end);
    void append_links(const Trace& source, const Mapping& mapping, size_t begin, size_t end);
    void append_text(const Trace& source);
    void merge_header(const Trace& source);
    void fold_notes(const Trace& source, const Origin& origin);
    void label_processes();

    Trace merged_;
    size_t sources_ = 0;
    std::vector<KnownProcess> known_;  // one per process of the merged trace
    std::unordered_map<std::string, std::vector<uint32_t>> by_pid_;
    std::unordered_set<std::string> tids_;  // with the number of their process
    std::vector<FoldedNote> notes_;
    std::unordered_map<std::string, size_t> note_index_;  // by kind and text without its numbers
    int64_t last_correlation_ = 0;
    int64_t last_sequence_ = -1;
    int64_t next_pid_ = 0;
    int64_t next_tid_ = 0;
};

}  // namespace kinetograph::trace
