#include "inject/text.h"

#include <charconv>
#include <cwchar>
#include <iterator>

namespace kinetograph::inject {

namespace {

constexpr char32_t last_character = 0x10ffff;

bool is_surrogate(char32_t c) {
    return c >= 0xd800 && c < 0xe000;
}

void append_character(std::string& out, char32_t c) {
    if (c > last_character || is_surrogate(c)) c = '?';
    if (c < 0x80) {
        out += char(c);
        return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out += char(first[more] | c >> 6 * more);
    for (int i = more - 1; i >= 0; --i) out += char(0x80 | (c >> 6 * i & 0x3f));
}

}  // namespace

std::string utf8(std::u32string_view text) {
    std::string out;
    for (const char32_t c : text) append_character(out, c);
    return out;
}

std::string utf8(std::u16string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        char32_t c = text[i];
        const bool is_pair =
            (c & 0xfc00) == 0xd800 && i + 1 < text.size() && (text[i + 1] & 0xfc00) == 0xdc00;
        if (is_pair) c = 0x10000 + ((c & 0x3ff) << 10) + (text[++i] & 0x3ff);
        append_character(out, c);
    }
    return out;
}

std::string utf8(const wchar_t* text) {
    std::string out;
    for (; text && *text; ++text) append_character(out, char32_t(*text));
    return out;
}

std::string hex(uint64_t number) {
    char text[2 + 2 * sizeof number] = {'0', 'x'};
    return {text, std::to_chars(text + 2, std::end(text), number, 16).ptr};
}

}  // namespace kinetograph::inject
