// A position in JSON text that is checked and passed, value by value, without building anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/input_window.h"
#include "format/json_text.h"

namespace kinetograph::format {

// How deep values may nest.
inline constexpr int deepest_json = 128;

// The window ends inside an element: refill it and begin the element again.
struct NeedMore {};

// The whole text ends inside an element.
struct EndOfText : ParseError {
    using ParseError::ParseError;
};

struct StringToken {
    std::string_view inside;  // between the quotes, still escaped
    bool is_plain = true;     // ASCII without escapes: means what it says

    // What the string means; `scratch` holds it when it is not there literally.
    std::string_view meaning(std::string& scratch) const {
        if (is_plain) return inside;
        scratch.clear();
        append_unescaped(scratch, inside);
        return scratch;
    }
};

class JsonCursor {
public:
    explicit JsonCursor(InputWindow& window) : window_(window), at_(window.begin()) {}

    const char* at() const { return at_; }
    void go_back_to(const char* earlier) { at_ = earlier; }
    std::string_view since(const char* earlier) const {
        return {earlier, static_cast<size_t>(at_ - earlier)};
    }

    // Runs `element`, which must have no effect but through its return value until it is done, as often as it
    // takes to have the whole of it in the window.
    template <class Element>
    decltype(auto) whole(Element element) {
        while (true) {
            const char* start = at_;
            try {
                return element();
            } catch (const NeedMore&) {
                window_.refill(start);
                at_ = window_.begin();
                depth_ = 0;
            }
        }
    }

    // The first byte of the next token, not passed. NUL at the end of a complete text.
    char peek() {
        if (static_cast<uint8_t>(*at_) <= ' ') skip_space();
        return *at_;
    }
    bool pass_if(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void pass(char c) {
        if (!pass_if(c)) fail_expecting(c);
    }
    // Passes a key and its colon.
    StringToken key() {
        pass('"');
        const StringToken token = string_rest();
        if (*at_ == ':') {
            ++at_;
        } else {
            pass(':');
        }
        return token;
    }
    StringToken string() {
        pass('"');
        return string_rest();
    }
    std::string_view number();
    void skip_value();

    // Since reset_findings(): whether there was white space between tokens, or a byte beyond ASCII.
    bool found_space() const { return found_space_; }
    bool found_wide() const { return found_wide_; }
    void reset_findings() { found_space_ = found_wide_ = false; }

    [[noreturn]] void fail(const std::string& reason) const;
    [[noreturn]] void fail_expecting(char c) const;
    [[noreturn]] void fail_at(const char* position, const std::string& reason) const;

private:
    void skip_space();
    StringToken string_rest();
    void pass_escape();
    void pass_digits();
    void pass_literal(std::string_view literal);
    void skip_object();
    void skip_array();
    void go_deeper();
    // Call where the byte at hand cannot stand: either the window ends here, or the text is wrong.
    void check_end() const;

    InputWindow& window_;
    const char* at_;
    int depth_ = 0;
    bool found_space_ = false;
    bool found_wide_ = false;
};

// Appends one or more JSON values, already checked, without white space and with invalid UTF-8 repaired.
void append_compact(std::string& out, std::string_view text);

}  // namespace kinetograph::format
