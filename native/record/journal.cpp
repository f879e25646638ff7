#include "record/journal.h"

#include <cstring>
#include <new>
#include <utility>

namespace kinetograph::record {

std::byte* Journal::room_for(ExtentKind kind, ExtentRef& extent, size_t bytes) {
    if (!extent || extent.header->used() + bytes > size_t(extent.header->capacity) * unit_bytes) {
        extent = pool_.open_extent(kind, 0);
        if (!extent) return nullptr;
        extents_.push_back(extent);
    }
    return extent.header->bytes() + extent.header->used();
}

void Journal::publish(const ExtentRef& extent, size_t bytes) {
    extent.header->state.store(extent.header->used() + bytes, std::memory_order_release);
}

template <class Item>
Item* Journal::add(ExtentKind kind, ExtentRef& extent, const Item& item) {
    std::byte* room = room_for(kind, extent, sizeof item);
    if (!room) return nullptr;
    std::memcpy(room, &item, sizeof item);
    publish(extent, sizeof item);
    return reinterpret_cast<Item*>(room);
}

void Journal::add_name(uint32_t id, std::string_view text) {
    const size_t bytes = sizeof(StringItem) + (text.size() + 7) / 8 * 8;
    std::byte* room = room_for(ExtentKind::strings, names_, bytes);
    if (!room) return;
    const StringItem item{id, uint32_t(text.size())};
    std::memcpy(room, &item, sizeof item);
    std::memcpy(room + sizeof item, text.data(), text.size());
    publish(names_, bytes);
}

void Journal::pause(uint64_t at) {
    if (!pause_) pause_ = add(ExtentKind::pauses, pauses_, PauseItem{at, UINT64_MAX});
}

void Journal::resume(uint64_t at) {
    if (PauseItem* pause = std::exchange(pause_, nullptr)) store_in_file(pause->end, at);
}

LeftOpenItem* Journal::add_left_open(uint32_t thread, int32_t tid, const OpenScopeCopy& scope) {
    return add(
        ExtentKind::left_open, left_open_,
        LeftOpenItem{scope.start, scope.seen_until, scope.name, scope.meta, thread, tid, scope.lane, 0});
}

ExtentRef Journal::losses() {
    if (losses_) return losses_;
    losses_ = pool_.open_extent(ExtentKind::losses, 0);
    if (!losses_) return {};
    extents_.push_back(losses_);
    for (uint32_t i = 0; i < loss_slots; ++i)
        new (losses_.header->bytes() + i * sizeof(LossCounts)) LossCounts{};
    losses_.header->state.store(loss_slots, std::memory_order_release);
    return losses_;
}

std::vector<ExtentRef> Journal::take() {
    names_ = pauses_ = left_open_ = losses_ = {};
    pause_ = nullptr;
    return std::exchange(extents_, {});
}

}  // namespace kinetograph::record
