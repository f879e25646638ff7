// Texts that a sequence of packets names once and then calls by number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/proto_buffer.h"
#include "trace/trace.h"

namespace kinetograph::format::perfetto {

// The numbers that the entries of one table have in the sequence being written: dense, so that they are
// short.
class SequenceIds {
public:
    void start_sequence() {
        ++sequence_;
        next_ = 0;
    }
    struct Id {
        uint32_t iid;
        bool is_new;  // the sequence has to be told what it means
    };
    Id of(uint32_t entry) {
        if (entry >= entries_.size()) entries_.resize(entry + 1 + entries_.size() / 2);
        Entry& known = entries_[entry];
        if (known.sequence == sequence_) return {known.iid, false};
        known = {sequence_, ++next_};
        return {next_, true};
    }
    // The table the entries stand for begins anew.
    void forget_entries() { entries_.clear(); }

private:
    struct Entry {
        uint32_t sequence = 0;
        uint32_t iid = 0;
    };
    std::vector<Entry> entries_;
    uint32_t sequence_ = 0, next_ = 0;
};

// Texts met on the way, remembered up to a limit. What does not fit makes it start over: then a text that
// comes again costs its bytes again, and memory stays bounded.
class TextCache {
public:
    struct Found {
        uint32_t entry;
        bool is_first;  // not met before
    };
    Found find(std::string_view text);
    void start_sequence() { ids_.start_sequence(); }
    SequenceIds::Id id_of(uint32_t entry) { return ids_.of(entry); }

private:
    static constexpr size_t most_bytes = 8 << 20, most_entries = 1 << 18;

    trace::Strings texts_;
    SequenceIds ids_;
    size_t bytes_ = 0;
};

// The bytes themselves if they are UTF-8, else a copy with U+FFFD for what is not.
std::string_view valid_utf8(std::string_view text, std::string& scratch);

void write_entry(ProtoBuffer& interned, uint32_t kind, uint32_t iid, std::string_view text);

}  // namespace kinetograph::format::perfetto
