// The wire format of the agent, as docs/concepts/on-demand.md has it: eight bytes, then JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/visibility.h"

namespace kinetograph::agent {

enum class Kind : uint8_t { status = 'S', capture = 'C', cancel = 'X', answer = 'A' };

inline constexpr size_t header_bytes = 8;
inline constexpr size_t most_payload_bytes = 64 * 1024;

struct Frame {
    Kind kind{};
    std::string payload;
};

// Takes what a peer sends, in whatever pieces. It never holds more than one frame and what came with it, for
// a length that is too large is seen before anything is kept for it.
class KINETOGRAPH_API FrameReader {
public:
    enum class Found { nothing_yet, frame, garbage };

    void feed(std::string_view bytes) { pending_.append(bytes); }
    // The next request. After garbage nothing that follows can be understood.
    Found next(Frame& frame);
    bool is_within_frame() const { return !pending_.empty(); }

private:
    bool begins_a_request() const;

    std::string pending_;
};

KINETOGRAPH_API std::string framed(Kind kind, std::string_view payload);

}  // namespace kinetograph::agent
