// What is a character of UTF-8: torch takes any bytes for a name, and one that is none would make a whole
// file unreadable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kinetograph::torch_observer {

inline constexpr std::string_view no_character = "\xef\xbf\xbd";

inline size_t promised_bytes(uint8_t first) {
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// How many bytes the first one has; 0 where there is none.
inline size_t character_bytes(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
    const uint8_t first = byte(0);
    const size_t bytes = promised_bytes(first);
    if (bytes < 2) return bytes;
    // Neither longer than need be, nor half of a pair, nor beyond the last.
    const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < least || byte(1) > most) return 0;
    for (size_t i = 2; i < bytes; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    return bytes;
}

}  // namespace kinetograph::torch_observer
