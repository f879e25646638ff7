// What a session saw, handed over when it stops: raw records, still in the memory they were written to.
//
// `trace/builder.h` turns it into a Trace. The same struct comes from a running recorder and from a session
// file.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
    std::string told = {};             // of an operator, as in a ToldItem; empty: nothing
};

// Scopes of one thread, by what tells them apart. However many there are, looking for one is one step.
class ScopeSet {
public:
    ScopeSet() = default;
    explicit ScopeSet(const std::vector<OpenScopeCopy>& scopes) {
        for (const OpenScopeCopy& scope : scopes) insert(scope);
    }
    // An OpenScopeCopy, or the Record that it became.
    template <class Scope>
    void insert(const Scope& scope) {
        keys_.insert({scope.start, scope.name, scope.lane});
    }
    template <class Scope>
    bool contains(const Scope& scope) const {
        return keys_.contains({scope.start, scope.name, scope.lane});
    }
    bool empty() const { return keys_.empty(); }

private:
    struct Key {
        uint64_t start;
        uint32_t name;
        uint16_t lane;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const {
            return (key.start ^ uint64_t(key.name) << 40 ^ uint64_t(key.lane) << 24) * 0x9e3779b97f4a7c15;
        }
    };
    std::unordered_set<Key, Hash> keys_;
};

// Takes out those that are in `ended`. Returns how many it looked at, each once.
inline size_t forget(std::vector<OpenScopeCopy>& open, const ScopeSet& ended) {
    const size_t looked_at = ended.empty() ? 0 : open.size();
    if (!ended.empty())
        std::erase_if(open, [&](const OpenScopeCopy& scope) { return ended.contains(scope); });
    return looked_at;
}

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
    bool serves_all = false;  // what it tells is not of its own
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
        std::swap(names_of_silent_threads, other.names_of_silent_threads);
        std::swap(release, other.release);
        clock = other.clock;
        window = other.window;
        started_at = other.started_at;
        std::swap(pauses, other.pauses);
        scope_cost_ns = other.scope_cost_ns;
        pid = other.pid;
        std::swap(process_name, other.process_name);
        tick_source = other.tick_source;
        brief_calls = other.brief_calls;
        is_recovered = other.is_recovered;
        all_threads = other.all_threads;
        std::swap(notes, other.notes);
        memory_limit_bytes = other.memory_limit_bytes;
        std::swap(spill_directory, other.spill_directory);
        return *this;
    }
    ~Recording() {
        if (release) release(std::uncaught_exceptions() > exceptions_before_);
    }

    std::vector<ThreadRecording> threads;
    base::ClockFit clock;
    Window window;
    uint64_t started_at = 0;     // ticks; of a ring the window begins later
    std::vector<Window> pauses;  // of the session: nothing was kept in them
    double scope_cost_ns = 0;    // what one event cost there; 0: not known
    int64_t pid = 0;
    std::string process_name;  // empty: "python"
    base::TickSource tick_source = base::tick_source;
    uint64_t brief_calls = 0;   // that were not recorded; of those that were, a session may want fewer
    bool is_recovered = false;  // the end of the window is not known, only the last event in it
    bool all_threads = true;    // also those that recorded nothing themselves
    std::function<std::string_view(uint32_t)> names;
    std::unordered_map<int32_t, std::string> names_of_silent_threads;  // by tid; others may tell of them
    std::vector<std::pair<std::string, std::string>> notes;            // kind, text
    size_t memory_limit_bytes = size_t(1) << 30;
    std::string spill_directory;
    // Gives the memory back. Of a recording that is lost to an exception, a session file stays.
    std::function<void(bool is_lost)> release;

private:
    int exceptions_before_ = std::uncaught_exceptions();
};

}  // namespace kinetograph::record
