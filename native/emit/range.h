// What a tool is told of a range, a task or a mark besides its name.
#pragma once

#include <cstdint>
#include <string>

#include "emit/name.h"

namespace kinetograph::emit {

struct Payload {
    enum class Kind : uint8_t { none, signed_integer, unsigned_integer, real };

    Kind kind = Kind::none;
    union {
        int64_t signed_integer = 0;
        uint64_t unsigned_integer;
        double real;
    };
};

struct Look {
    bool has_color = false;
    uint32_t color = 0;     // alpha, red, green, blue
    uint32_t category = 0;  // 0: none
    Payload payload;
};

// One of our own domain. `text` stands for the name where there are too many of them to be known.
struct Range {
    Name* name = nullptr;
    std::string text;
    Look look;

    const char* label() const { return name ? name->text.c_str() : text.c_str(); }
};

}  // namespace kinetograph::emit
