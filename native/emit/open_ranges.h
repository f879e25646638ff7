// The scopes of one thread that a tool was told of and that have not ended.
//
// Tools keep a stack for each thread, and scopes do not always nest: tasks of asyncio take turns, generators
// stop in the middle. So only the scopes of one context, the first that has some open, go on the tool's
// stack; those of others become ranges that may cross. One that ends below others of its own context takes
// those off the stack and puts them back: in the tool they are two ranges each, and at every moment what is
// open is.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "emit/tool.h"

namespace kinetograph::emit {

class OpenRanges {
public:
    explicit OpenRanges(const Tool& tool) : tool_(tool) {}

    // `key` is what a begin and its end have in common, `context` whose scopes nest. By the owner.
    void begin(const void* key, uintptr_t context, Range&& range);
    // Does nothing for one whose begin was not told, or in another thread. Not while it is empty.
    void end(const void* key, uintptr_t context);
    // Those that nobody will.
    void end_all(uint32_t category);

    bool is_empty() const { return depth_.load(std::memory_order_relaxed) == 0; }

private:
    struct Open {
        // Where it is to stay: to copy all of it at once, just after it was written bit by bit, takes long.
        Open(const void* of, uintptr_t in, bool pushed, Range&& told)
            : key(of), context(in), is_pushed(pushed), range(std::move(told)) {}

        const void* key;
        uintptr_t context;
        bool is_pushed;
        uint64_t started = 0;  // if it is not
        Range range;
    };
    static constexpr size_t nowhere = SIZE_MAX;

    size_t find(const void* key, uintptr_t context) const;
    void end_at(size_t index);
    void take_off(size_t index);
    void publish() { depth_.store(uint32_t(open_.size()), std::memory_order_relaxed); }

    const Tool& tool_;
    std::vector<Open> open_;
    size_t pushed_ = 0;
    uintptr_t pushed_context_ = 0;  // of those
    std::atomic<uint32_t> depth_{0};
};

inline void OpenRanges::begin(const void* key, uintptr_t context, Range&& range) {
    const bool is_pushed = pushed_ == 0 || pushed_context_ == context;
    // First the memory: what a tool was told must be known here.
    Open& open = open_.emplace_back(key, context, is_pushed, std::move(range));
    if (is_pushed) {
        tool_.push(open.range);
        pushed_context_ = context;
        ++pushed_;
    } else {
        open.started = tool_.start(open.range);
    }
    publish();
}

inline void OpenRanges::end(const void* key, uintptr_t context) {
    const Open& innermost = open_.back();
    if (innermost.key == key && innermost.context == context && innermost.is_pushed) [[likely]] {
        tool_.pop();
        --pushed_;
        open_.pop_back();
        return publish();
    }
    const size_t index = find(key, context);
    if (index != nowhere) end_at(index);
}

}  // namespace kinetograph::emit
