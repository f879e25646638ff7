// Gives each distinct key a number, from 0 on in the order of first use: a hash table without a node per key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kinetograph::trace {

// `Hash` must spread over the low bits.
template <class Key, class Hash>
class DenseIds {
public:
    // The id, and whether it is new.
    std::pair<uint32_t, bool> find_or_add(const Key& key) {
        if (2 * (keys_.size() + 1) > slots_.size()) grow();
        uint32_t& slot = slots_[slot_of(key)];
        if (slot != 0) return {slot - 1, false};
        keys_.push_back(key);
        slot = static_cast<uint32_t>(keys_.size());
        return {slot - 1, true};
    }
    const Key& operator[](uint32_t id) const { return keys_[id]; }
    size_t size() const { return keys_.size(); }

private:
    size_t slot_of(const Key& key) const {
        const size_t mask = slots_.size() - 1;
        size_t slot = Hash()(key) & mask;
        while (slots_[slot] != 0 && !(keys_[slots_[slot] - 1] == key)) slot = (slot + 1) & mask;
        return slot;
    }
    void grow() {
        slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
        for (size_t id = 0; id < keys_.size(); ++id)
            slots_[slot_of(keys_[id])] = static_cast<uint32_t>(id + 1);
    }

    std::vector<Key> keys_;
    std::vector<uint32_t> slots_;  // id + 1, 0 is free; at most half of them are taken
};

}  // namespace kinetograph::trace
