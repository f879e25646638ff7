// Text as it may stand between two quotes in JSON: escaping, unescaping, and repair of what is no UTF-8.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kinetograph::format {

// The bytes of one UTF-8 character at the front of `text`; 0 when there is none (overlong forms, surrogates
// and cut characters are none).
size_t utf8_length(std::string_view text);

// Appends `text` as it may stand between quotes. A byte that belongs to no UTF-8 character becomes U+FFFD, so
// that a name from anywhere cannot spoil the file.
void append_escaped(std::string& out, std::string_view text);

// Appends what the inside of a JSON string means. The text was scanned before: every escape is complete. Half
// a surrogate pair, and bytes that are no UTF-8, become U+FFFD.
void append_unescaped(std::string& out, std::string_view text);
bool has_lone_surrogate(std::string_view text);

std::string quoted(std::string_view text);

bool is_utf8(std::string_view text);

// Appends `text` with U+FFFD for each byte that belongs to no UTF-8 character.
void append_utf8(std::string& out, std::string_view text);

namespace detail {

inline uint64_t load_eight(const char* at) {
    uint64_t bytes;
    std::memcpy(&bytes, at, 8);
    return bytes;
}

constexpr uint64_t every_byte(uint8_t value) {
    return 0x0101010101010101u * value;
}

// The high bit of each byte that is below `limit` (at most 0x80). Bytes above 0x7f are not told apart:
// callers look at the high bits as well.
constexpr uint64_t bytes_below(uint64_t bytes, uint8_t limit) {
    return (bytes - every_byte(limit)) & ~bytes;
}

constexpr uint64_t bytes_equal(uint64_t bytes, uint8_t value) {
    return bytes_below(bytes ^ every_byte(value), 1);
}

// Non-zero when one of eight bytes needs a second look: a quote, a backslash, a control or a non-ASCII byte.
// The lowest bit set is in the first such byte; carries can only mark bytes after it.
constexpr uint64_t special_bytes(uint64_t bytes) {
    const uint64_t marks =
        bytes_below(bytes, 0x20) | bytes_equal(bytes, '"') | bytes_equal(bytes, '\\') | bytes;
    return marks & every_byte(0x80);
}

inline bool is_special(char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\';
}

}  // namespace detail

// Length of the front part that is plain ASCII and needs no escape.
inline size_t plain_length(const char* text, size_t size) {
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        const uint64_t marks = detail::special_bytes(detail::load_eight(text + i));
        if (marks != 0) return i + static_cast<size_t>(__builtin_ctzll(marks)) / 8;
    }
    while (i < size && !detail::is_special(text[i])) ++i;
    return i;
}

}  // namespace kinetograph::format
