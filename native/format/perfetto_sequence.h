// What the packets of one sequence have told so far: the meaning of its numbers, its defaults and its clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/perfetto_fields.h"
#include "format/proto_reader.h"

namespace kinetograph::format::perfetto {

// Texts by number. Writers mostly count from 1.
class InternedTexts {
public:
    void add(uint64_t iid, std::string text);
    const std::string* find(uint64_t iid) const;
    void clear() {
        dense_.clear();
        sparse_.clear();
    }

private:
    static constexpr uint64_t widest_gap = 1024;
    std::vector<std::optional<std::string>> dense_;
    std::unordered_map<uint64_t, std::string> sparse_;
};

// Wall time of clocks that are told of in snapshots. Clocks of a sequence are in the sequence; the others
// here.
class Clocks {
public:
    // Nanoseconds to add to the time of a clock; nothing known: none.
    int64_t offset_of(uint64_t clock) const;
    void set(uint64_t clock, int64_t offset_ns) { offsets_.try_emplace(clock, offset_ns); }

private:
    std::unordered_map<uint64_t, int64_t> offsets_;
};

struct SequenceClock {
    bool is_incremental = false;
    uint64_t unit_ns = 1;
    int64_t last_ns = 0;
    int64_t offset_ns = 0;
};

struct Sequence {
    InternedTexts names, categories, annotation_names, strings;
    std::unordered_map<uint64_t, SequenceClock> clocks;
    uint64_t default_clock = 0;
    uint64_t default_track = 0;

    void read_interned(const ProtoField& interned);
    void read_defaults(const ProtoField& defaults);
    void read_clocks(const ProtoField& snapshot, Clocks& shared);
    void clear_state();
    // Wall time of a packet.
    int64_t time_of(uint64_t timestamp, std::optional<uint64_t> clock, const Clocks& shared);
};

// Repaired where it is no UTF-8.
std::string text_of(const ProtoField& field);

}  // namespace kinetograph::format::perfetto
