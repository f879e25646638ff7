#include "record/told_operators.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "record/recorder.h"

namespace kinetograph::record {

namespace {

constexpr uint32_t first_units = 62;  // with its header 2 KiB

size_t padded(size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

void pop(ToldStack& stack) noexcept {
    const uint32_t top = stack.top;
    publish(stack, top, told_item(stack, top).below);
}

void mark_ended(ToldStack& stack, uint32_t at) noexcept {
    constexpr uint64_t ended = 0;
    store_told(stack.extent.header->bytes() + at, {ended});
    publish(stack, stack.used_bytes, stack.top);
}

}  // namespace

void store_told_text(std::byte* to, const char* text, size_t bytes) noexcept {
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, text + at, std::min(sizeof word, bytes - at));
        store_told(to + at, {word});
    }
}

bool make_room_for_told(ThreadBuffer& thread, size_t bytes) noexcept {
    try {
        return Recorder::instance().grow_told(thread, bytes);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// Those further below began before: one that is not there is not looked for among all that are.
uint32_t place_below_top(const ToldStack& stack, uint64_t begun) noexcept {
    for (uint32_t at = stack.top; at != ToldStack::none; at = told_item(stack, at).below) {
        const uint64_t other = told_item(stack, at).begun;
        if (other == begun) return at;
        if (other != 0 && other < begun) break;
    }
    return ToldStack::none;
}

void forget_among_others(ToldStack& stack, uint32_t place) noexcept {
    if (place != stack.top) return mark_ended(stack, place);
    do pop(stack);
    while (stack.top != ToldStack::none && told_item(stack, stack.top).begun == 0);
}

void forget_told_operators(ToldStack& stack) noexcept {
    if (stack.top != ToldStack::none) publish(stack, 0, ToldStack::none);
}

// Into larger memory, or other memory; a reader is kept out by the lock, and one of a killed process may find
// both.
bool Recorder::grow_told(ThreadBuffer& thread, size_t bytes) {
    const ToldStack& stack = thread.told;
    const size_t units = (stack.used_bytes + bytes + unit_bytes - 1) / unit_bytes;
    if (units > slab_units || !may_have_memory(thread)) return false;
    std::lock_guard lock(mutex_);
    const uint32_t capacity = stack.extent ? stack.extent.header->capacity : 0;
    return move_told(thread, std::min(slab_units, std::max({first_units, capacity * 4, uint32_t(units)})));
}

bool Recorder::move_told(ThreadBuffer& thread, uint32_t units) {
    ToldStack& stack = thread.told;
    const ExtentRef fresh = open_extent(ExtentKind::told, units);
    if (!fresh) return false;
    fresh.header->thread = thread.index;
    fresh.header->tid = thread.tid;
    if (stack.used_bytes != 0)
        std::memcpy(fresh.header->bytes(), stack.extent.header->bytes(), stack.used_bytes);
    fresh.header->state.store(stack.used_bytes, std::memory_order_release);
    drop(stack.extent);
    stack.extent = fresh;
    return true;
}

namespace {

using Words = std::vector<uint64_t>;

// What held still; none where the owner never did.
Words copy_of(const ExtentHeader& told) {
    const size_t room = size_t(told.capacity) * unit_bytes;
    auto* words = reinterpret_cast<uint64_t*>(const_cast<ExtentHeader&>(told).bytes());
    Words copy;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const uint64_t before = told.state.load(std::memory_order_acquire);
        copy.resize(std::min<size_t>(uint32_t(before), room) / sizeof(uint64_t));
        for (size_t i = 0; i < copy.size(); ++i)
            copy[i] = std::atomic_ref(words[i]).load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (told.state.load(std::memory_order_relaxed) == before) return copy;
    }
    return {};
}

using ToldByStart = std::unordered_map<uint64_t, std::string>;

void read_told(const ExtentHeader& told, ToldByStart& by_start) {
    const Words words = copy_of(told);
    const std::string_view bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
    ToldItem item;
    for (size_t at = 0; bytes.size() - at >= sizeof item + sizeof(Operator); at += padded(item.bytes)) {
        std::memcpy(&item, bytes.data() + at, sizeof item);
        at += sizeof item;
        if (item.bytes < sizeof(Operator) || item.bytes > bytes.size() - at) return;
        if (item.begun != 0) by_start[item.begun] = bytes.substr(at, item.bytes);
    }
}

}  // namespace

// Each once: in a damaged file any number of scopes may have begun at one time.
void add_told(std::span<const ExtentHeader* const> told, std::vector<OpenScopeCopy>& open) {
    ToldByStart by_start;
    for (const ExtentHeader* extent : told) read_told(*extent, by_start);
    if (by_start.empty()) return;
    for (OpenScopeCopy& scope : open)
        if (auto known = by_start.extract(scope.start)) scope.told = std::move(known.mapped());
}

}  // namespace kinetograph::record
