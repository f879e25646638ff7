// What a tool is told of a range, a task or a mark besides its name.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

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

// One of our own domain.
struct Range {
    Name* name = nullptr;
    Look look;
    std::unique_ptr<Name> own_name;  // where there are too many of them to be kept

    Range(Name& kept, const Look& looks) : name(&kept), look(looks) {}
    // Never throws: without memory for the text it has another.
    KINETOGRAPH_API Range(std::string_view text, const Look& looks) noexcept;

    Range copy() const noexcept { return own_name ? Range(own_name->text, look) : Range(*name, look); }
};

}  // namespace kinetograph::emit
