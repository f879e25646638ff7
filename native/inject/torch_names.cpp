#include "inject/torch_names.h"

#include <algorithm>

namespace kinetograph::inject {

namespace {

constexpr std::string_view sequence = ", seq = ", number = ", op_id = ", sizes = ", sizes = [",
                           input_numbers = ", input_op_ids = [";

size_t digits(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return size_t(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

// Whether it is a number, with nothing behind it but what torch puts there.
bool is_number_of_operator(std::string_view text) {
    const size_t length = digits(text);
    if (length == 0) return false;
    text.remove_prefix(length);
    return text.empty() || text.starts_with(sizes) || text.starts_with(input_numbers);
}

}  // namespace

// The last of each, for a name may have the same words in it.
std::string_view operator_name(std::string_view told) {
    const size_t numbered = told.rfind(number);
    if (numbered == told.npos || !is_number_of_operator(told.substr(numbered + number.size()))) return told;
    const std::string_view name = told.substr(0, numbered);
    const size_t sequenced = name.rfind(sequence);
    if (sequenced == name.npos) return name;
    const std::string_view value = name.substr(sequenced + sequence.size());
    const bool is_sequence = !value.empty() && digits(value) == value.size();
    return is_sequence ? name.substr(0, sequenced) : name;
}

}  // namespace kinetograph::inject
