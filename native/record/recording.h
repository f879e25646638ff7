// What a session saw, handed over when it stops: raw records, still in the memory they were written to.
//
// `trace/builder.h` turns it into a Trace. The same struct comes from a running recorder and from a session
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "record/event.h"

namespace kinetograph::record {

// Ticks; both ends belong to it.
struct Window {
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
};

struct RecordRange {
    const Record* begin = nullptr;
    const Record* end = nullptr;
    bool in_file = false;  // its pages can be let go of once read
};

struct OpenScopeCopy {
    uint64_t start = 0;
    uint32_t name = 0;
    uint32_t meta = 0;
    uint16_t lane = 0;
    uint64_t seen_until = UINT64_MAX;  // when its thread left the session, if it did

    bool is(uint64_t other_start, uint32_t other_name, uint16_t other_lane) const {
        return start == other_start && name == other_name && lane == other_lane;
    }
};

struct Losses {
    uint64_t dropped = 0;     // events, for want of memory
    uint64_t unbalanced = 0;  // ends without a begin
    uint64_t too_deep = 0;    // scopes nested deeper than a stack can be
    uint64_t oversized = 0;   // payloads too large for a slab
    uint64_t brief = 0;       // calls shorter than asked for
};

struct ThreadRecording {
    uint32_t index = 0;
    int32_t tid = 0;
    std::string name;
    std::vector<RecordRange> ranges;  // in the order they were written, that is by end
    std::vector<OpenScopeCopy> open;  // per lane outermost first
    std::vector<Window> windows;
    bool is_spilled = false;
    Losses losses;
};

// Calls visit(record) for each record of the thread in the order they were written. Continuation records are
// passed over; a range that ends inside an event (a damaged session file) ends before it.
template <class Visit>
void for_each_record(const RecordRange& range, Visit&& visit) {
    for (const Record* at = range.begin; at < range.end;) {
        const Record* next = at + 1 + at->payload;
        if (next > range.end) return;
        visit(*at);
        at = next;
    }
}

template <class Visit>
void for_each_record(const ThreadRecording& thread, Visit&& visit) {
    for (const RecordRange& range : thread.ranges) for_each_record(range, visit);
}

struct Recording {
    Recording() = default;
    Recording(Recording&& other) noexcept { *this = std::move(other); }
    Recording& operator=(Recording&& other) noexcept {
        std::swap(threads, other.threads);
        std::swap(names, other.names);
        std::swap(release, other.release);
        clock = other.clock;
        window = other.window;
        std::swap(pauses, other.pauses);
        pid = other.pid;
        std::swap(process_name, other.process_name);
        tick_source = other.tick_source;
        is_recovered = other.is_recovered;
        all_threads = other.all_threads;
        std::swap(notes, other.notes);
        memory_limit_bytes = other.memory_limit_bytes;
        std::swap(spill_directory, other.spill_directory);
        return *this;
    }
    ~Recording() {
        if (release) release();
    }

    std::vector<ThreadRecording> threads;
    base::ClockFit clock;
    Window window;
    std::vector<Window> pauses;  // of the session: nothing was kept in them
    int64_t pid = 0;
    std::string process_name;  // empty: "python"
    base::TickSource tick_source = base::tick_source;
    bool is_recovered = false;  // the end of the window is not known, only the last event in it
    bool all_threads = true;    // also those that recorded nothing themselves
    std::function<std::string_view(uint32_t)> names;
    std::vector<std::pair<std::string, std::string>> notes;  // kind, text
    size_t memory_limit_bytes = size_t(1) << 30;
    std::string spill_directory;
    std::function<void()> release;  // gives the memory back
};

}  // namespace kinetograph::record
