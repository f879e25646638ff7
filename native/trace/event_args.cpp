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

bool Arguments::next() {
    if (at_ >= members_.size() || members_[at_] != '"') return false;
    const size_t colon = after_string(members_, at_);
    const size_t end = after_value(members_, colon + 1);
    key_ = members_.substr(at_ + 1, colon - at_ - 2);
    value_ = members_.substr(colon + 1, end - colon - 1);
    member_ = members_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
}

std::string_view argument(std::string_view members, std::string_view key) {
    if (members.size() <= key.size() ||
        memmem(members.data(), members.size(), key.data(), key.size()) == nullptr)
        return {};
    for (Arguments each(members); each.next();)
        if (each.key() == key) return each.value();
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
