// The members of a JSON object, one after the other.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace kinetograph::collect::cupti {

class Members {
public:
    template <class Number>
        requires std::integral<Number> || std::floating_point<Number>
    Members& add(std::string_view key, Number value) {
        begin(key);
        append(value);
        return *this;
    }

    Members& add(std::string_view key, std::string_view text) {
        begin(key);
        text_ += '"';
        for (const char c : text) {
            if (c == '"' || c == '\\') text_ += '\\';
            text_ += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        text_ += '"';
        return *this;
    }

    template <class Number>
    Members& add(std::string_view key, Number x, Number y, Number z) {
        begin(key);
        text_ += '[';
        append(x);
        text_ += ',';
        append(y);
        text_ += ',';
        append(z);
        text_ += ']';
        return *this;
    }

    const std::string& text() const { return text_; }

private:
    void begin(std::string_view key) {
        if (!text_.empty()) text_ += ',';
        text_.append("\"").append(key).append("\":");
    }
    template <class Number>
    void append(Number value) {
        char digits[48];
        text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }

    std::string text_;
};

}  // namespace kinetograph::collect::cupti
