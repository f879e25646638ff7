// The members of a JSON object, one after the other.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace kinetograph::base {

// What JSON must not hold of a text becomes what it may; whether it is UTF-8 is for others to see.
inline void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    out += '"';
}

template <class Number>
    requires std::integral<Number> || std::floating_point<Number>
void append_json_number(std::string& out, Number value) {
    if constexpr (std::floating_point<Number>) {
        if (!std::isfinite(value)) {
            out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
            return;
        }
    }
    char digits[48];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

class JsonMembers {
public:
    JsonMembers() = default;
    // Behind those that are there.
    explicit JsonMembers(const std::string& begun) : text_(begun) {}

    template <class Number>
        requires std::integral<Number> || std::floating_point<Number>
    JsonMembers& add(std::string_view key, Number value) {
        begin(key);
        append_json_number(text_, value);
        return *this;
    }

    JsonMembers& add(std::string_view key, std::string_view text) {
        begin(key);
        append_json_string(text_, text);
        return *this;
    }

    template <class Number>
    JsonMembers& add(std::string_view key, Number x, Number y, Number z) {
        begin(key);
        text_ += '[';
        append_json_number(text_, x);
        text_ += ',';
        append_json_number(text_, y);
        text_ += ',';
        append_json_number(text_, z);
        text_ += ']';
        return *this;
    }

    // A value that is JSON already.
    JsonMembers& add_json(std::string_view key, std::string_view value) {
        begin(key);
        text_ += value;
        return *this;
    }

    const std::string& text() const { return text_; }
    std::string take() { return std::move(text_); }

private:
    void begin(std::string_view key) {
        if (!text_.empty()) text_ += ',';
        append_json_string(text_, key);
        text_ += ':';
    }

    std::string text_;
};

}  // namespace kinetograph::base
