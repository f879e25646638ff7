// Texts as their makers hand them over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kinetograph::inject {

inline std::string_view text_of(const char* text) {
    return text ? text : "";
}

// As UTF-8; what is no character is a question mark.
std::string utf8(std::u32string_view text);
std::string utf8(std::u16string_view text);
std::string utf8(const wchar_t* text);
inline std::string utf8(const char* text) {
    return std::string(text_of(text));
}

// "0x..."
std::string hex(uint64_t number);

}  // namespace kinetograph::inject
