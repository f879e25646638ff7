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

    bool is_empty() const { return depth_.load(std::memory_order_relaxed) == 0; }

private:
    struct Open {
        const void* key;
        uintptr_t context;
        bool is_pushed;
        uint64_t started;  // if it is not
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

}  // namespace kinetograph::emit
