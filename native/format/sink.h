// Where a writer's bytes go. A writer fills blocks of about a MiB; the sink keeps or compresses them.
#pragma once

#include <string_view>

namespace kinetograph::format {

class Sink {
public:
    virtual ~Sink() = default;
    // Throws (std::system_error or what a Python sink raised) when the bytes cannot be kept.
    virtual void write(std::string_view block) = 0;
};

}  // namespace kinetograph::format
