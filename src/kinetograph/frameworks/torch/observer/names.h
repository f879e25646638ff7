// Names of operators, found without a lock once a thread has used them.
#pragma once

#include <ATen/record_function.h>

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

struct Name {
    uint32_t id = 0;
    bool is_engine = false;    // that of autograd, which evaluates a backward function
    bool is_operator = false;  // of the dispatcher, and no range that somebody named
};

class Names {
public:
    // Mostly a text is where it was the last time; those that torch makes up as it goes are found by what
    // they say.
    Name find(const at::RecordFunction& function) {
        const char* text = function.name();
        Recent& recent = recent_[(reinterpret_cast<uintptr_t>(text) >> 3) % recent_.size()];
        if (recent.place != text || !is_known(recent.entry->name.id) ||
            std::strcmp(recent.entry->text, text) != 0) [[unlikely]]
            return find_text(function, text, recent);
        return recent.entry->name;
    }

private:
    static constexpr size_t longest = 119;  // that of a backward function with "evaluate_function: " in front

    struct Entry {
        Name name;
        uint32_t bytes = 0;
        char text[longest + 1] = {};

        bool is(std::string_view wanted) const {
            return bytes == wanted.size() && is_known(name.id) &&
                   std::memcmp(text, wanted.data(), wanted.size()) == 0;
        }
        void set(std::string_view wanted, Name found) {
            bytes = uint32_t(wanted.size());
            std::memcpy(text, wanted.data(), wanted.size());
            text[bytes] = '\0';
            name = found;
        }
    };
    struct Recent {
        const char* place = nullptr;
        const Entry* entry = nullptr;
    };

    static Name interned(const at::RecordFunction& function, std::string_view text) {
        return {recorder->intern_text(text.data(), text.size()),
                text.starts_with("autograd::engine::evaluate_function"),
                function.operator_name().has_value()};
    }

    Name find_text(const at::RecordFunction& function, std::string_view text, Recent& recent) {
        if (text.size() > longest) return interned(function, text);
        Entry& entry = entries_[hash_of(text) % entries_.size()];
        if (!entry.is(text)) entry.set(text, interned(function, text));
        recent = {text.data(), &entry};
        return entry.name;
    }

    std::array<Entry, 256> entries_{};
    std::array<Recent, 256> recent_{};
};

}  // namespace kinetograph::torch_observer
