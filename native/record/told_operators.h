// What is known of an operator before it ends, kept for sessions that end first: of a job that hangs, people
// want to know what it hangs in.
//
// A stack of ToldItems for each thread, in the memory of its records, so that it outlives the process where
// they do. Only the owner writes it; a stop reads it meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/ordered_stores.h"
#include "base/visibility.h"
#include "record/event.h"
#include "record/extent.h"
#include "record/recording.h"
#include "record/thread_buffer.h"

namespace kinetograph::record {

inline ToldItem told_item(const ToldStack& stack, uint32_t at) noexcept {
    ToldItem item;
    std::memcpy(&item, stack.extent.header->bytes() + at, sizeof item);
    return item;
}

// Where that of this operator begins, else ToldStack::none.
KINETOGRAPH_API uint32_t place_below_top(const ToldStack& stack, uint64_t begun) noexcept;

inline uint32_t told_place(const ToldStack& stack, uint64_t begun) noexcept {
    if (stack.top == ToldStack::none || told_item(stack, stack.top).begun == begun) [[likely]]
        return stack.top;
    return place_below_top(stack, begun);
}

// What was told of an operator; nothing where there is no place.
struct ToldOperator {
    Operator told;
    const char* inputs = nullptr;
    size_t inputs_bytes = 0;

    ToldOperator(const ToldStack& stack, uint32_t place) noexcept {
        if (place == ToldStack::none) return;
        inputs = reinterpret_cast<const char*>(stack.extent.header->bytes()) + place + sizeof(ToldItem) +
                 sizeof told;
        inputs_bytes = told_item(stack, place).bytes - sizeof told;
        std::memcpy(&told, inputs - sizeof told, sizeof told);
    }
};

inline void publish(ToldStack& stack, uint32_t used_bytes, uint32_t top) noexcept {
    stack.used_bytes = used_bytes;
    stack.top = top;
    std::atomic<uint64_t>& state = stack.extent.header->state;
    constexpr uint64_t change = uint64_t(1) << 32;
    const uint64_t changes = state.load(std::memory_order_relaxed) >> 32 << 32;
    base::order_stores();
    state.store(changes + change + used_bytes, base::in_order);
    // What is written next takes the place of items that a reader must no longer believe in.
    base::order_stores();
}

// Word by word, for a stop may read them meanwhile.
inline void store_told(std::byte* to, std::initializer_list<uint64_t> words) noexcept {
    auto* place = reinterpret_cast<uint64_t*>(to);
    for (const uint64_t word : words) std::atomic_ref(*place++).store(word, std::memory_order_relaxed);
}

KINETOGRAPH_API void store_told_text(std::byte* to, const char* text, size_t bytes) noexcept;
KINETOGRAPH_API bool make_room_for_told(ThreadBuffer& thread, size_t bytes) noexcept;

inline bool has_room(const ToldStack& stack, size_t bytes) noexcept {
    return stack.extent && stack.used_bytes + bytes <= size_t(stack.extent.header->capacity) * unit_bytes;
}

// By the owner, of one that it has just begun; false where there is no memory for it.
inline bool tell_operator(ThreadBuffer& thread, uint64_t begun, const Operator& told, const char* inputs,
                          size_t inputs_bytes) noexcept {
    const size_t bytes = sizeof(ToldItem) + sizeof told + (inputs_bytes + 7) / 8 * 8;
    ToldStack& stack = thread.told;
    if (!has_room(stack, bytes) && !make_room_for_told(thread, bytes)) [[unlikely]]
        return false;
    std::byte* to = stack.extent.header->bytes() + stack.used_bytes;
    static_assert(offsetof(ToldItem, bytes) == 8 && offsetof(ToldItem, below) == 12);
    store_told(to, {begun, (sizeof told + inputs_bytes) | uint64_t(stack.top) << 32});
    store_told(to + sizeof(ToldItem),
               {uint64_t(told.sequence), told.flops, told.thread_and_inputs, told.members_and_number});
    if (inputs_bytes != 0) store_told_text(to + sizeof(ToldItem) + sizeof told, inputs, inputs_bytes);
    publish(stack, stack.used_bytes + uint32_t(bytes), stack.used_bytes);
    return true;
}

KINETOGRAPH_API void forget_among_others(ToldStack& stack, uint32_t place) noexcept;

// That operator has ended. Mostly it is the last, and those below go on.
inline void forget_told_operator(ToldStack& stack, uint32_t place) noexcept {
    if (place == ToldStack::none) return;
    const uint32_t below = told_item(stack, place).below;
    if (place != stack.top || (below != ToldStack::none && told_item(stack, below).begun == 0)) [[unlikely]]
        return forget_among_others(stack, place);
    publish(stack, place, below);
}

// All have.
void forget_told_operators(ToldStack& stack) noexcept;

// Gives the open scopes of a thread what was told of them.
void add_told(std::span<const ExtentHeader* const> told, std::vector<OpenScopeCopy>& open);

}  // namespace kinetograph::record
