// Names of operators, found without a lock once a thread has used them.
#pragma once

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "recorder.h"

namespace kinetograph::torch_observer {

// Both halves of the product: a change in any bit of either may change all of them.
inline uint64_t mixed(uint64_t hash, uint64_t word) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide(hash ^ word) * 0x9E3779B97F4A7C15;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

// The length first, or those of two lengths could have the same hash. Then eight bytes at a time, of which
// the last may overlap those before them: names have thirty characters or so.
inline uint64_t hash_of(std::string_view text) {
    uint64_t hash = mixed(text.size(), 0), word = 0;
    if (text.size() < sizeof word) {
        std::memcpy(&word, text.data(), text.size());
        return mixed(hash, word);
    }
    const char* last = text.data() + text.size() - sizeof word;
    for (const char* at = text.data(); at < last; at += sizeof word) {
        std::memcpy(&word, at, sizeof word);
        hash = mixed(hash, word);
    }
    std::memcpy(&word, last, sizeof word);
    return mixed(hash, word);
}

struct Name {
    uint32_t id = 0;
    bool is_engine = false;    // that of autograd, which evaluates a backward function
    bool is_operator = false;  // of the dispatcher, and no range that somebody named
};

// By a hash of what they say: torch makes up some of them as it goes, each time elsewhere. With 64 bits, that
// two names of a program have the same one is not to be expected. Four of them fill a line of the cache,
// which what the program does between two operators needs as well.
class Names {
public:
    Name find(const at::RecordFunction& function) {
        const std::string_view text = function.name();
        if (text.size() > longest) [[unlikely]]
            return interned(function, text);
        const uint64_t hash = hash_of(text);
        Line& line = lines_[hash % lines_.size()];
        for (const Entry& entry : line)
            if (entry.hash == hash && is_known(entry.name.id)) [[likely]]
                return entry.name;
        return keep(line, {hash, interned(function, text)});
    }

private:
    // Those that are cut are longer still, which is told of each time.
    static constexpr size_t longest = 1024;

    struct Entry {
        uint64_t hash = 0;
        Name name;  // none has the number 0
    };
    struct alignas(64) Line : std::array<Entry, 4> {};

    static Name interned(const at::RecordFunction& function, std::string_view text) {
        return {recorder->intern_text(text.data(), text.size()),
                text.starts_with("autograd::engine::evaluate_function"),
                function.operator_name().has_value()};
    }

    // In the place of that which was kept first.
    static Name keep(Line& line, Entry entry) {
        std::move_backward(line.begin(), line.end() - 1, line.end());
        line.front() = entry;
        return entry.name;
    }

    std::array<Line, 256> lines_{};
};

}  // namespace kinetograph::torch_observer
