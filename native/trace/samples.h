// Stacks that one thread recorded of others, turned into the spans that they are evidence of.
//
// A span begins with the first sample of its thread that has the function and ends with the first that has it
// no more; functions that are on the stack in both of two neighbouring samples are taken to have run all the
// while. So a span is as exact as the time between two samples, and of what began and ended in between there
// is nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/recording.h"

namespace kinetograph::trace {

struct SampledSpan {
    uint64_t start;
    uint64_t end;
    uint32_t name;
    bool is_open;  // until the end of the window
};

// What a thread recorded of its own calls.
class OwnCalls {
public:
    void see(uint64_t start, uint64_t end, uint32_t name, uint64_t window_begin) {
        first_sign_ = std::min(first_sign_, start > window_begin ? start : end);
        if (start <= window_begin) since_begin_.push_back(name);
    }
    bool empty() const { return first_sign_ == UINT64_MAX; }
    // When the thread first called or returned from something.
    uint64_t first_sign() const { return first_sign_; }
    // Names of the calls that were open when the window began.
    const std::vector<uint32_t>& since_begin() const { return since_begin_; }

private:
    uint64_t first_sign_ = UINT64_MAX;
    std::vector<uint32_t> since_begin_;
};

class Samples {
public:
    struct Wanted {
        bool samples = true;      // stacks taken again and again
        bool open_stacks = true;  // those found when calls began, or ceased, to be traced
    };
    // Functions that `wants_name` does not want are left out of the stacks.
    Samples(record::Window window, Wanted wanted, std::function<bool(uint32_t)> wants_name)
        : window_(window), wanted_(wanted), wants_name_(std::move(wants_name)) {}

    // Numbers of stacks hold within one thread's records.
    void begin_thread() { spelled_.clear(); }
    // Each record of the recording, thread by thread in the order they were written.
    void see(const record::Record& record) {
        if (record.kind >= record::RecordKind::stack_sample &&
            record.kind <= record::RecordKind::other_thread_name)
            see_other_thread(record);
    }
    // This thread has recorded calls itself, which say more than the stacks found at the edges of the window.
    void has_own_calls(int32_t tid, OwnCalls calls) { own_calls_[tid] = std::move(calls); }

    // Call once after the last record: the spans of each thread, outer ones before those within them.
    std::map<int32_t, std::vector<SampledSpan>> take_spans();
    // The name id that somebody knew for this thread; 0 if nobody did.
    uint32_t name_of(int32_t tid) const;

private:
    using Stack = std::vector<uint32_t>;  // name ids, outermost first
    struct Open {
        uint32_t name;
        uint64_t start;
    };
    struct Thread {
        uint32_t number = 0;
        std::vector<Open> open;
        std::vector<SampledSpan> spans;
    };
    struct Sighting {
        uint64_t at;
        record::OtherThread thread;
        Stack stack;
    };

    Stack spelled_stack(const record::Record& record) const;
    void see_other_thread(const record::Record& record);
    void see_sample(const record::Record& record);
    void see_open_stack(const record::Record& record);
    std::map<int32_t, Thread> threads_seen_at_the_edges();
    void add_what_ended_unseen(Thread& thread, const Sighting& sighting, const OwnCalls& own) const;
    bool is_in_window(const record::Record& record) const;
    static void follow(Thread& thread, uint32_t number, uint64_t at, const Stack& stack);
    static void close_above(Thread& thread, size_t depth, uint64_t at);

    record::Window window_;
    Wanted wanted_;
    std::function<bool(uint32_t)> wants_name_;
    std::unordered_map<uint32_t, Stack> spelled_;
    std::map<int32_t, Thread> threads_;
    std::vector<Sighting> open_stacks_;
    std::unordered_map<int32_t, OwnCalls> own_calls_;
    std::unordered_map<int32_t, uint32_t> names_;
};

}  // namespace kinetograph::trace
