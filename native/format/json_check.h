// JSON that comes from the program rather than from a file: checked, and brought to the form a Trace keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kinetograph::format {

// The value without white space. Throws ParseError.
std::string compact_json(std::string_view value);

struct EventArgs {
    int64_t correlation = 0;
    int64_t sequence = -1;
    uint32_t record_function = 0;
    std::optional<int64_t> scope;
    bool is_unfinished = false;
    bool is_async = false;
    std::string members;  // what stays text, as Trace::args_text holds it
};

// Takes `{"a":1}` or its members alone. What has a column is taken out of the text, and so is what `left_out`
// names. Throws ParseError.
EventArgs parse_event_args(std::string_view text, std::span<const std::string_view> left_out = {});

// The members of parse_event_args, or false where that throws.
bool clean_members(std::string_view text, std::span<const std::string_view> left_out, std::string& clean);

}  // namespace kinetograph::format
