// One element of "traceEvents", taken apart but not yet judged.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/json_cursor.h"

namespace kinetograph::format {

// Members of events that a Trace has no place for. The last stands for all others, and "s" only where it says
// that an instant is of more than its thread.
inline constexpr std::array<std::string_view, 6> left_out_members = {"id",    "tts", "tdur",
                                                                     "cname", "s",   "other members"};

// Views are into the input window or into the parser's own memory, and end with the next event.
struct ParsedEvent {
    char phase = '\0';
    StringToken name, category;
    std::string_view pid = "0", tid = "0";  // as they stand in JSON
    std::optional<int64_t> start_ns, duration_ns;
    std::optional<StringToken> id;
    std::bitset<left_out_members.size()> left_out;
    bool has_odd_member = false;  // of another type than the format says; left out
    bool has_time_out_of_range = false;

    // Arguments that are columns or ids; what is left stands in `members` as compact text.
    std::optional<int64_t> external_id;
    int64_t correlation = 0;
    int64_t sequence = -1;
    uint32_t record_function = 0;
    std::optional<int64_t> scope;
    bool is_unfinished = false;
    bool is_async = false;
    bool is_resumed = false;
    std::string_view members;

    // Arguments of M events.
    std::optional<StringToken> label;  // "name" or "labels"
    std::string_view sort_index, lane_of, task_of;
    std::optional<int64_t> device_type, device_index, framework_thread;
};

// Takes an argument that has a place of its own in the event; `value` as it stands in JSON. False for others.
bool take_argument(ParsedEvent& event, std::string_view key, std::string_view value);

class EventParser {
public:
    explicit EventParser(JsonCursor& cursor) : cursor_(cursor) {}

    const ParsedEvent& parse();
    // The members of an `args` object, braces included, as those of a span, without those named in
    // `left_out`.
    const ParsedEvent& parse_args(std::span<const std::string_view> left_out = {});

private:
    void parse_member();
    void leave_out(std::string_view key);
    std::optional<StringToken> id();
    bool is_number();
    std::optional<StringToken> string_or_skip();
    std::string_view number_or_skip();
    void skip_odd();
    void require_whole_span();
    void parse_args_object();
    void parse_argument();
    void take_name_argument(std::string_view key);
    void keep_argument(const char* start);
    void take_off_overload();
    char phase();
    std::string_view scalar(std::string& scratch);
    std::optional<int64_t> time();
    std::optional<int64_t> duration();
    std::optional<int64_t> integer_or_skip();

    JsonCursor& cursor_;
    ParsedEvent event_;
    std::span<const std::string_view> left_out_;
    const char* late_args_ = nullptr;  // args that came before the phase
    std::string_view overload_;        // as it stands in JSON
    std::string key_, name_, pid_, tid_, lane_, task_, members_;
};

}  // namespace kinetograph::format
