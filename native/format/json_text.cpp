#include "format/json_text.h"

namespace kinetograph::format {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr char hex_digits[] = "0123456789abcdef";

bool is_continuation(char c) {
    return (static_cast<uint8_t>(c) & 0xC0) == 0x80;
}

bool continues(std::string_view text, size_t length) {
    if (text.size() < length) return false;
    for (size_t i = 1; i < length; ++i) {
        if (!is_continuation(text[i])) return false;
    }
    return true;
}

uint32_t hex_value(const char* digits) {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = digits[i];
        value = value * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

void append_code_point(std::string& out, uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
        return;
    }
    if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            out += static_cast<char>(0xE0 | code >> 12);
        } else {
            out += static_cast<char>(0xF0 | code >> 18);
            out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        }
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    }
    out += static_cast<char>(0x80 | (code & 0x3F));
}

bool is_high_surrogate(uint32_t code) {
    return code >= 0xD800 && code < 0xDC00;
}
bool is_low_surrogate(uint32_t code) {
    return code >= 0xDC00 && code < 0xE000;
}

// `text` begins behind the backslash and the u. Returns how many more bytes belong to the character.
size_t append_unicode_escape(std::string& out, std::string_view text) {
    const uint32_t code = hex_value(text.data());
    if (is_high_surrogate(code) && text.size() >= 10 && text[4] == '\\' && text[5] == 'u') {
        const uint32_t low = hex_value(text.data() + 6);
        if (is_low_surrogate(low)) {
            append_code_point(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
            return 10;
        }
    }
    if (is_high_surrogate(code) || is_low_surrogate(code)) {
        out += replacement;
    } else {
        append_code_point(out, code);
    }
    return 4;
}

char meaning_of_escape(char c) {
    switch (c) {
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return c;
    }
}

void append_escape(std::string& out, char c) {
    switch (c) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            out += "\\u00";
            out += hex_digits[static_cast<uint8_t>(c) >> 4];
            out += hex_digits[c & 0xF];
    }
}

// Appends one character beyond ASCII and returns its length.
size_t append_wide(std::string& out, std::string_view text) {
    const size_t length = utf8_length(text);
    if (length == 0) {
        out += replacement;
        return 1;
    }
    out.append(text.data(), length);
    return length;
}

}  // namespace

size_t utf8_length(std::string_view text) {
    const auto first = static_cast<uint8_t>(text[0]);
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0;
    if (first < 0xE0) return continues(text, 2) ? 2 : 0;
    if (first < 0xF0) {
        if (!continues(text, 3)) return 0;
        const auto second = static_cast<uint8_t>(text[1]);
        const bool overlong = first == 0xE0 && second < 0xA0;
        const bool surrogate = first == 0xED && second >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    if (first > 0xF4 || !continues(text, 4)) return 0;
    const auto second = static_cast<uint8_t>(text[1]);
    const bool out_of_range = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
    return out_of_range ? 0 : 4;
}

void append_escaped(std::string& out, std::string_view text) {
    while (true) {
        const size_t plain = plain_length(text.data(), text.size());
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) return;
        if (static_cast<uint8_t>(text[0]) >= 0x80) {
            text.remove_prefix(append_wide(out, text));
        } else {
            append_escape(out, text[0]);
            text.remove_prefix(1);
        }
    }
}

void append_unescaped(std::string& out, std::string_view text) {
    while (true) {
        const size_t plain = plain_length(text.data(), text.size());
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) return;
        if (text[0] != '\\') {
            text.remove_prefix(append_wide(out, text));
        } else if (text[1] == 'u') {
            text.remove_prefix(2);
            text.remove_prefix(append_unicode_escape(out, text));
        } else {
            out += meaning_of_escape(text[1]);
            text.remove_prefix(2);
        }
    }
}

bool has_lone_surrogate(std::string_view text) {
    std::string meaning;
    for (size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
        at += 2;
        if (text[at - 1] != 'u') continue;
        const uint32_t code = hex_value(text.data() + at);
        const size_t length = append_unicode_escape(meaning, text.substr(at));
        if (length == 4 && (is_high_surrogate(code) || is_low_surrogate(code))) return true;
        at += length;
    }
    return false;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

void append_utf8(std::string& out, std::string_view text) {
    while (!text.empty()) text.remove_prefix(append_wide(out, text));
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    append_escaped(out, text);
    out += '"';
    return out;
}

}  // namespace kinetograph::format
