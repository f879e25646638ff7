// What a thread could not record, counted since it began.
#pragma once

#include "record/recording.h"
#include "record/thread_buffer.h"

namespace kinetograph::record {

inline Losses losses_of(const ThreadBuffer& thread) {
    return {thread.dropped.load(std::memory_order_relaxed), thread.unbalanced.load(std::memory_order_relaxed),
            thread.too_deep.load(std::memory_order_relaxed), thread.oversized.load(std::memory_order_relaxed),
            thread.brief.load(std::memory_order_relaxed)};
}

inline Losses operator-(const Losses& a, const Losses& b) {
    return {a.dropped - b.dropped, a.unbalanced - b.unbalanced, a.too_deep - b.too_deep,
            a.oversized - b.oversized, a.brief - b.brief};
}

}  // namespace kinetograph::record
