// What a thread could not record, counted since it began.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "record/recording.h"
#include "record/thread_buffer.h"

namespace kinetograph::record {

inline Losses losses_of(const ThreadBuffer& thread) {
    const LossCounts& counts = thread.losses;
    return {counts.dropped.load(std::memory_order_relaxed), counts.unbalanced.load(std::memory_order_relaxed),
            counts.too_deep.load(std::memory_order_relaxed), counts.oversized.load(std::memory_order_relaxed),
            counts.brief.load(std::memory_order_relaxed)};
}

inline Losses operator-(const Losses& a, const Losses& b) {
    return {a.dropped - b.dropped, a.unbalanced - b.unbalanced, a.too_deep - b.too_deep,
            a.oversized - b.oversized, a.brief - b.brief};
}

inline Losses operator+(const Losses& a, const Losses& b) {
    return {a.dropped + b.dropped, a.unbalanced + b.unbalanced, a.too_deep + b.too_deep,
            a.oversized + b.oversized, a.brief + b.brief};
}

using Notes = std::vector<std::pair<std::string, std::string>>;

// `text` begins with the count; nothing for 0.
inline void add_count(Notes& notes, const char* kind, uint64_t count, const std::string& text) {
    if (count != 0) notes.emplace_back(kind, std::to_string(count) + " " + text);
}

// What a trace says of its losses, whoever found them: a stop, or recovery.
void add_loss_notes(Notes& notes, const Losses& losses, const char* why_dropped);
void add_ring_note(Notes& notes, double kept_ns, double whole_ns);
void add_name_notes(Notes& notes, uint64_t refused, uint64_t shortened);
void add_other_threads_note(Notes& notes, uint64_t scopes);

}  // namespace kinetograph::record
