// Names of operators, found without a lock once a thread has used them.
#pragma once

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "hash.h"
#include "recorder.h"

namespace kinetograph::torch_observer {

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
    [[gnu::always_inline]] Name find(const at::RecordFunction& function) {
        const std::string_view text = function.name();
        if (text.size() > longest) [[unlikely]]
            return interned(function, text);
        const uint64_t hash = hash_of(text);
        Line& line = lines_[hash % lines_.size()];
        for (const Entry& entry : line)
            if (entry.hash == hash && is_known(entry.name.id)) [[likely]]
                return entry.name;
        return keep(line, hash, function, text);
    }

private:
    // Those that are cut are longer still, which is told of each time.
    static constexpr size_t longest = 1024;

    struct Entry {
        uint64_t hash = 0;
        Name name;  // none has the number 0
    };
    struct alignas(64) Line : std::array<Entry, 4> {};

    [[gnu::noinline]] static Name interned(const at::RecordFunction& function, std::string_view text) {
        return {recorder->intern_text(text.data(), text.size()),
                text.starts_with("autograd::engine::evaluate_function"),
                function.operator_name().has_value()};
    }

    // In the place of that which was kept first.
    [[gnu::noinline]] static Name keep(Line& line, uint64_t hash, const at::RecordFunction& function,
                                       std::string_view text) {
        const Name name = interned(function, text);
        std::move_backward(line.begin(), line.end() - 1, line.end());
        line.front() = {hash, name};
        return name;
    }

    std::array<Line, 256> lines_{};
};

}  // namespace kinetograph::torch_observer
