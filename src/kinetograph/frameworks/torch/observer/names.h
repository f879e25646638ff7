// Names of operators, found without a lock once a thread has used them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "recorder.h"

namespace kinetograph::torch_observer {

inline uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    return hash ^ hash >> 29;
}

// Eight bytes at a time: names have thirty characters or so.
inline uint64_t hash_of(std::string_view text) {
    uint64_t hash = text.size(), word = 0;
    size_t at = 0;
    for (; at + sizeof word <= text.size(); at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        hash = mixed(hash, word);
    }
    word = 0;
    std::memcpy(&word, text.data() + at, text.size() - at);
    return mixed(hash, word);
}

class Names {
public:
    uint32_t id(std::string_view text) {
        if (text.size() > longest) return recorder->intern_text(text.data(), text.size());
        Entry& entry = entries_[hash_of(text) % entries_.size()];
        const bool is_found = entry.bytes == text.size() && is_known(entry.id) &&
                              std::memcmp(entry.text, text.data(), text.size()) == 0;
        if (!is_found) entry.set(text);
        return entry.id;
    }

private:
    static constexpr size_t longest = 120;  // that of a backward function with "evaluate_function: " in front

    struct Entry {
        uint32_t id = 0;
        uint32_t bytes = 0;
        char text[longest] = {};

        void set(std::string_view wanted) {
            bytes = uint32_t(wanted.size());
            std::memcpy(text, wanted.data(), wanted.size());
            id = recorder->intern_text(wanted.data(), wanted.size());
        }
    };
    std::array<Entry, 256> entries_{};
};

}  // namespace kinetograph::torch_observer
