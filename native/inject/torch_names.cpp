#include "inject/torch_names.h"

#include <algorithm>

namespace kinetograph::inject {

namespace {

constexpr std::string_view sequence = ", seq = ", number = ", op_id = ", before_sizes = ", sizes = ",
                           sizes = ", sizes = [", input_numbers = ", input_op_ids = [";

size_t digits(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return size_t(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

bool take(std::string_view& text, std::string_view wanted) {
    if (!text.starts_with(wanted)) return false;
    text.remove_prefix(wanted.size());
    return true;
}

bool take_number(std::string_view& text) {
    const size_t length = digits(text);
    text.remove_prefix(length);
    return length != 0;
}

// Of what `take_one` takes, between brackets.
template <class TakeOne>
bool take_list(std::string_view& text, TakeOne take_one) {
    if (!take(text, "[")) return false;
    if (take(text, "]")) return true;
    do
        if (!take_one(text)) return false;
    while (take(text, ", "));
    return take(text, "]");
}

bool take_size(std::string_view& text) {
    return take_list(text, take_number);
}

// "" unless all of it is as torch writes it: the text becomes part of JSON.
std::string_view sizes_in(std::string_view behind_number) {
    if (!take(behind_number, before_sizes)) return {};
    std::string_view rest = behind_number;
    if (!take_list(rest, take_size)) return {};
    return behind_number.substr(0, behind_number.size() - rest.size());
}

// Whether it is nothing, or what torch puts behind the number.
bool may_follow_number(std::string_view text) {
    return text.empty() || text.starts_with(sizes) || text.starts_with(input_numbers);
}

std::string_view without_sequence(std::string_view name) {
    const size_t sequenced = name.rfind(sequence);
    if (sequenced == name.npos) return name;
    const std::string_view value = name.substr(sequenced + sequence.size());
    const bool is_sequence = !value.empty() && digits(value) == value.size();
    return is_sequence ? name.substr(0, sequenced) : name;
}

}  // namespace

// The last of each, for a name may have the same words in it.
ToldOperator operator_in(std::string_view told) {
    const size_t numbered = told.rfind(number);
    if (numbered == told.npos) return {told, {}};
    std::string_view rest = told.substr(numbered + number.size());
    if (!take_number(rest) || !may_follow_number(rest)) return {told, {}};
    return {without_sequence(told.substr(0, numbered)), sizes_in(rest)};
}

}  // namespace kinetograph::inject
