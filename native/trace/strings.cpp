// The string table of a trace: bytes back to back, ids in the order of first use.
#include <functional>

#include "trace/trace.h"

namespace kinetograph::trace {

Strings::Strings(const Storage& storage) : bytes_(storage), starts_(storage), slots_(16) {
    starts_.push_back(0);
    intern("");
}

std::string_view Strings::operator[](uint32_t id) const {
    return {bytes_.data() + starts_[id], starts_[id + 1] - starts_[id]};
}

uint32_t Strings::add(std::string_view text) {
    bytes_.append(text.data(), text.size());
    starts_.push_back(bytes_.size());
    return static_cast<uint32_t>(size() - 1);
}

uint32_t Strings::intern(std::string_view text) {
    // At most half full, so that a probe ends soon. Strings that came by add() are not in the slots.
    if (2 * (used_slots_ + 1) > slots_.size()) rehash(slots_.size() * 2);
    const size_t mask = slots_.size() - 1;
    size_t slot = std::hash<std::string_view>{}(text)&mask;
    while (slots_[slot] != 0) {
        const uint32_t id = slots_[slot] - 1;
        if ((*this)[id] == text) return id;
        slot = (slot + 1) & mask;
    }
    const uint32_t id = add(text);
    slots_[slot] = id + 1;
    ++used_slots_;
    return id;
}

void Strings::rehash(size_t slots) {
    const std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots));
    const size_t mask = slots - 1;
    for (const uint32_t entry : old) {
        if (entry == 0) continue;
        size_t slot = std::hash<std::string_view>{}((*this)[entry - 1]) & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = entry;
    }
}

Strings Strings::clone() const {
    Strings copy(bytes_.storage());
    copy.bytes_ = bytes_.clone();
    copy.starts_ = starts_.clone();
    copy.slots_ = slots_;
    copy.used_slots_ = used_slots_;
    return copy;
}

}  // namespace kinetograph::trace
