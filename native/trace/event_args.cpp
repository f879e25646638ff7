#include "trace/event_args.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace kinetograph::trace {

namespace {

// Past the string whose opening quote is at `at`.
size_t after_string(std::string_view text, size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
    }
    return at + 1;
}

size_t after_value(std::string_view text, size_t at) {
    int depth = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '"') {
            at = after_string(text, at);
            continue;
        }
        if (c == ',' && depth == 0) break;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
        ++at;
    }
    return at;
}

}  // namespace

std::string_view argument(std::string_view members, std::string_view key) {
    if (members.size() <= key.size() ||
        memmem(members.data(), members.size(), key.data(), key.size()) == nullptr)
        return {};
    for (size_t at = 0; at < members.size() && members[at] == '"';) {
        const size_t colon = after_string(members, at);
        const size_t end = after_value(members, colon + 1);
        if (members.substr(at + 1, colon - at - 2) == key) return members.substr(colon + 1, end - colon - 1);
        at = end + 1;
    }
    return {};
}

int64_t integer_argument(std::string_view members, std::string_view key) {
    const std::string_view value = argument(members, key);
    int64_t whole = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, whole);
    if (error == std::errc{} && stop == end) return whole;
    double number = 0;
    const auto [_, float_error] = std::from_chars(value.data(), end, number);
    constexpr double largest = 9.2e18;
    return float_error == std::errc{} && std::abs(number) < largest ? static_cast<int64_t>(number) : 0;
}

std::string_view string_argument(std::string_view members, std::string_view key) {
    const std::string_view value = argument(members, key);
    return value.size() < 2 || value.front() != '"' ? std::string_view{} : value.substr(1, value.size() - 2);
}

}  // namespace kinetograph::trace
