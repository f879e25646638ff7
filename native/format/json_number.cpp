#include "format/json_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kinetograph::format {

namespace {

constexpr int decimals_of_microsecond = 3;
constexpr uint64_t room_for_digit = (UINT64_MAX - 9) / 10;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A decimal number as digits times a power of ten. Digits beyond what 64 bits hold are left out: nineteen are
// more than any time has.
struct Decimal {
    bool negative = false;
    uint64_t digits = 0;
    int64_t power = 0;
};

int64_t to_power(std::string_view text) {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    int64_t power = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), power);
    constexpr int64_t far = 1'000'000'000;
    if (error != std::errc{}) return text.front() == '-' ? -far : far;
    return std::clamp(power, -far, far);
}

Decimal to_decimal(std::string_view token) {
    Decimal number;
    size_t i = 0;
    bool in_fraction = false;
    if (token[0] == '-') {
        number.negative = true;
        ++i;
    }
    for (; i < token.size(); ++i) {
        if (token[i] == '.') {
            in_fraction = true;
        } else if (!is_digit(token[i])) {
            number.power += to_power(token.substr(i + 1));
            break;
        } else if (number.digits > room_for_digit) {
            number.power += in_fraction ? 0 : 1;
        } else {
            number.digits = number.digits * 10 + static_cast<uint64_t>(token[i] - '0');
            number.power -= in_fraction ? 1 : 0;
        }
    }
    return number;
}

// digits * 10^power, rounded half up; nothing when too large.
std::optional<int64_t> scaled(uint64_t digits, int64_t power) {
    for (; power > 0 && digits != 0; --power) {
        if (digits > static_cast<uint64_t>(latest_ns) / 10) return std::nullopt;
        digits *= 10;
    }
    uint64_t last = 0;
    for (; power < 0 && (digits != 0 || last != 0); ++power) {
        last = digits % 10;
        digits /= 10;
    }
    if (last >= 5) ++digits;
    if (digits > static_cast<uint64_t>(latest_ns)) return std::nullopt;
    return static_cast<int64_t>(digits);
}

}  // namespace

std::optional<int64_t> to_int64(std::string_view token) {
    int64_t value = 0;
    const char* last = token.data() + token.size();
    const auto [end, error] = std::from_chars(token.data(), last, value);
    if (error != std::errc{} || end != last) return std::nullopt;
    return value;
}

std::optional<double> to_double(std::string_view token) {
    double value = 0;
    const char* last = token.data() + token.size();
    const auto [end, error] = std::from_chars(token.data(), last, value);
    if (error != std::errc{} || end != last || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::optional<int64_t> to_nanoseconds(std::string_view token) {
    const Decimal number = to_decimal(token);
    const int64_t power = number.power + decimals_of_microsecond;
    const std::optional<int64_t> value = power == 0 && number.digits <= static_cast<uint64_t>(latest_ns)
                                             ? static_cast<int64_t>(number.digits)
                                             : scaled(number.digits, power);
    if (!value) return std::nullopt;
    return number.negative ? -*value : *value;
}

}  // namespace kinetograph::format
