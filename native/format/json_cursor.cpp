#include "format/json_cursor.h"

#include <algorithm>

namespace kinetograph::format {

namespace {

bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_hex(char c) {
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

std::string shown(char c) {
    if (c >= ' ' && c < 0x7f) return std::string("'") + c + "'";
    return "byte " + std::to_string(static_cast<uint8_t>(c));
}

}  // namespace

void JsonCursor::fail_at(const char* position, const std::string& reason) const {
    throw ParseError(window_.offset() + static_cast<size_t>(position - window_.begin()), reason);
}

void JsonCursor::fail(const std::string& reason) const {
    check_end();
    fail_at(at_, reason);
}

void JsonCursor::fail_expecting(char c) const {
    fail("expected " + shown(c) + ", got " + shown(*at_));
}

void JsonCursor::check_end() const {
    if (at_ < window_.end()) return;
    if (!window_.is_complete()) throw NeedMore{};
    throw EndOfText(window_.offset() + static_cast<size_t>(at_ - window_.begin()),
                    "the text ends in the middle of a value");
}

void JsonCursor::skip_space() {
    while (is_space(*at_)) {
        ++at_;
        found_space_ = true;
    }
    if (at_ >= window_.end() && !window_.is_complete()) throw NeedMore{};
}

StringToken JsonCursor::string_rest() {
    const char* start = at_;
    StringToken token;
    while (true) {
        // The padding behind the window is NUL, which stops the scan.
        uint64_t marks;
        while ((marks = detail::special_bytes(detail::load_eight(at_))) == 0) at_ += 8;
        at_ += __builtin_ctzll(marks) / 8;
        if (*at_ == '"') break;
        token.is_plain = false;
        if (*at_ == '\\') {
            pass_escape();
        } else if (static_cast<uint8_t>(*at_) >= 0x80) {
            found_wide_ = true;
            ++at_;
        } else {
            fail("a control character inside a string");
        }
    }
    token.inside = since(start);
    ++at_;
    return token;
}

void JsonCursor::pass_escape() {
    ++at_;
    if (*at_ != 'u') {
        const std::string_view known = "\"\\/bfnrt";
        if (*at_ == '\0' || known.find(*at_) == known.npos) fail("an unknown escape inside a string");
        ++at_;
        return;
    }
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
        if (!is_hex(*at_)) fail("expected four hexadecimal digits");
    }
}

void JsonCursor::pass_digits() {
    if (!is_digit(*at_)) fail("expected a digit, got " + shown(*at_));
    while (is_digit(*at_)) ++at_;
}

std::string_view JsonCursor::number() {
    peek();
    const char* start = at_;
    if (*at_ == '-') ++at_;
    if (*at_ == '0') {
        ++at_;
    } else {
        pass_digits();
    }
    if (*at_ == '.') {
        ++at_;
        pass_digits();
    }
    if ((*at_ | 0x20) == 'e') {
        ++at_;
        if (*at_ == '+' || *at_ == '-') ++at_;
        pass_digits();
    }
    if (at_ == window_.end() && !window_.is_complete())
        throw NeedMore{};  // digits may go on in the next piece
    return since(start);
}

void JsonCursor::pass_literal(std::string_view literal) {
    for (const char c : literal) {
        if (*at_ != c) fail("expected a value");
        ++at_;
    }
}

void JsonCursor::go_deeper() {
    if (++depth_ > deepest_json) fail("values are nested deeper than 128");
}

void JsonCursor::skip_object() {
    ++at_;
    if (pass_if('}')) return;
    do {
        key();
        skip_value();
    } while (pass_if(','));
    pass('}');
}

void JsonCursor::skip_array() {
    ++at_;
    if (pass_if(']')) return;
    do {
        skip_value();
    } while (pass_if(','));
    pass(']');
}

void JsonCursor::skip_value() {
    switch (peek()) {
        case '"':
            ++at_;
            string_rest();
            return;
        case '{':
            go_deeper();
            skip_object();
            --depth_;
            return;
        case '[':
            go_deeper();
            skip_array();
            --depth_;
            return;
        case 't':
            pass_literal("true");
            return;
        case 'f':
            pass_literal("false");
            return;
        case 'n':
            pass_literal("null");
            return;
        default:
            number();
    }
}

void append_compact(std::string& out, std::string_view text) {
    bool in_string = false;
    for (size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (static_cast<uint8_t>(c) >= 0x80) {
            const size_t length = utf8_length(text.substr(i));
            out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(i, length);
            i += std::max<size_t>(length, 1);
        } else if (in_string && c == '\\') {
            out.append(text, i, 2);
            i += 2;
        } else {
            if (c == '"') in_string = !in_string;
            if (in_string || !is_space(c)) out += c;
            ++i;
        }
    }
}

}  // namespace kinetograph::format
