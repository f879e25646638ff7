// The category and the colour of an event, as its arguments: what a thread spelled lately, for programs use
// few.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "inject/domain.h"

namespace kinetograph::inject {

struct Look {
    uint32_t category = 0;  // 0: none
    bool has_colour = false;
    uint32_t colour = 0;

    bool operator==(const Look&) const = default;
};

class RecentLooks {
public:
    // Members of a JSON object; until the next call.
    const std::string& spelled(const Domain& domain, const Look& look);

private:
    struct Spelled {
        const Domain* domain = nullptr;
        Look look;
        const char* category_name = nullptr;  // where it is kept: a new one is elsewhere
        std::string members;
    };

    std::array<Spelled, 16> spelled_;
};

}  // namespace kinetograph::inject
