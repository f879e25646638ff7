#include "format/event_parser.h"

#include <algorithm>

#include "format/json_number.h"
#include "format/kineto_words.h"

namespace kinetograph::format {

const ParsedEvent& EventParser::parse() {
    event_ = {};
    members_.clear();
    late_args_ = nullptr;
    overload_ = {};
    if (cursor_.peek() != '{') cursor_.fail("expected an event, an object in braces");
    cursor_.pass('{');
    if (!cursor_.pass_if('}')) {
        do {
            parse_member();
        } while (cursor_.pass_if(','));
        cursor_.pass('}');
    }
    if (late_args_ != nullptr) {
        const char* end = cursor_.at();
        cursor_.go_back_to(late_args_);
        parse_args_object();
        cursor_.go_back_to(end);
    }
    if (event_.has_time_out_of_range) require_whole_span();
    if (!overload_.empty()) take_off_overload();
    event_.members = members_;
    return event_;
}

// Without one end of a span, the other would be taken for that of another.
void EventParser::require_whole_span() {
    if (event_.phase == 'B' || event_.phase == 'E')
        cursor_.fail_at(cursor_.at(), "an event with a time that is out of range");
}

// Where the writer has put it behind the name.
void EventParser::take_off_overload() {
    const bool is_span = event_.phase == 'X' || event_.phase == 'B';
    if (!is_span || overload_.size() <= 2 || overload_.front() != '"') return;
    const std::string_view overload = overload_.substr(1, overload_.size() - 2);
    std::string_view name = event_.name.meaning(name_);
    if (!name.ends_with(overload) || overload.find('\\') != overload.npos) return;
    name.remove_suffix(overload.size());
    if (name.ends_with('.')) event_.name = {name.substr(0, name.size() - 1)};
}

const ParsedEvent& EventParser::parse_args(std::span<const std::string_view> left_out) {
    left_out_ = left_out;
    event_ = {};
    event_.phase = 'X';
    members_.clear();
    parse_args_object();
    event_.members = members_;
    return event_;
}

void EventParser::parse_member() {
    const std::string_view key = cursor_.key().meaning(key_);
    if (key == "ts") {
        event_.start_ns = time();
    } else if (key == "dur") {
        event_.duration_ns = duration();
    } else if (key == "name") {
        event_.name = string_or_skip().value_or(StringToken{});
    } else if (key == "args") {
        if (event_.phase != '\0') return parse_args_object();
        cursor_.peek();
        late_args_ = cursor_.at();
        cursor_.skip_value();
    } else if (key == "pid") {
        event_.pid = scalar(pid_);
    } else if (key == "tid") {
        event_.tid = scalar(tid_);
    } else if (key == "ph") {
        event_.phase = phase();
    } else if (key == "cat") {
        event_.category = string_or_skip().value_or(StringToken{});
    } else if (key == "id") {
        event_.id = id();
    } else {
        leave_out(key);
    }
}

void EventParser::leave_out(std::string_view key) {
    cursor_.peek();
    const char* value = cursor_.at();
    cursor_.skip_value();
    if (key == "s" && cursor_.since(value) == "\"t\"") return;
    const auto* member = std::find(left_out_members.begin(), left_out_members.end() - 1, key);
    event_.left_out.set(static_cast<size_t>(member - left_out_members.begin()));
}

bool EventParser::is_number() {
    const char c = cursor_.peek();
    return c == '-' || (c >= '0' && c <= '9');
}

// One member that is not what it should be is no reason to refuse a file. Null says that there is nothing.
void EventParser::skip_odd() {
    event_.has_odd_member |= cursor_.peek() != 'n';
    cursor_.skip_value();
}

std::optional<StringToken> EventParser::string_or_skip() {
    if (cursor_.peek() == '"') return cursor_.string();
    skip_odd();
    return std::nullopt;
}

// Empty when it was none.
std::string_view EventParser::number_or_skip() {
    if (is_number()) return cursor_.number();
    skip_odd();
    return {};
}

// A number or a string.
std::optional<StringToken> EventParser::id() {
    if (is_number()) return StringToken{cursor_.number()};
    return string_or_skip();
}

char EventParser::phase() {
    const std::optional<StringToken> token = string_or_skip();
    if (!token) return '\0';
    return token->inside.size() == 1 ? token->inside[0] : '?';
}

std::optional<int64_t> EventParser::time() {
    const std::string_view number = number_or_skip();
    if (number.empty()) return std::nullopt;
    const std::optional<int64_t> value = to_nanoseconds(number);
    event_.has_time_out_of_range = !value;
    return value;
}

// One that is too long for a number reaches beyond where times end.
std::optional<int64_t> EventParser::duration() {
    const std::string_view number = number_or_skip();
    if (number.empty()) return std::nullopt;
    return to_nanoseconds(number).value_or(number.front() == '-' ? -2 * latest_ns : 2 * latest_ns);
}

// A pid or tid: a number or a string, kept as it stands so that it can be written back.
std::string_view EventParser::scalar(std::string& scratch) {
    if (cursor_.peek() != '"') {
        const std::string_view number = number_or_skip();
        return number.empty() ? "0" : number;
    }
    const char* start = cursor_.at();
    const StringToken token = cursor_.string();
    if (token.is_plain) return cursor_.since(start);
    std::string meaning;
    append_unescaped(meaning, token.inside);
    scratch = quoted(meaning);
    return scratch;
}

void EventParser::parse_args_object() {
    if (cursor_.peek() != '{') return skip_odd();
    cursor_.pass('{');
    if (cursor_.pass_if('}')) return;
    do {
        parse_argument();
    } while (cursor_.pass_if(','));
    cursor_.pass('}');
}

void EventParser::parse_argument() {
    cursor_.peek();
    cursor_.reset_findings();
    const char* start = cursor_.at();
    const StringToken token = cursor_.key();
    const std::string_view key = token.meaning(key_);
    if (event_.phase == 'M') return take_name_argument(key);
    cursor_.peek();
    const char* value = cursor_.at();
    cursor_.skip_value();
    // Every argument of a counter is a series.
    if (event_.phase != 'C' && take_argument(event_, key, cursor_.since(value))) return;
    // The one that the writer finds, which looks for it as it stands.
    if (token.is_plain && key == overload_name && overload_.empty()) overload_ = cursor_.since(value);
    if (std::find(left_out_.begin(), left_out_.end(), key) == left_out_.end()) keep_argument(start);
}

void EventParser::keep_argument(const char* start) {
    if (!members_.empty()) members_ += ',';
    const std::string_view text = cursor_.since(start);
    if (cursor_.found_space() || cursor_.found_wide()) {
        append_compact(members_, text);
    } else {
        members_ += text;
    }
}

std::optional<int64_t> EventParser::integer_or_skip() {
    const std::string_view number = number_or_skip();
    return number.empty() ? std::nullopt : to_int64(number);
}

// False for values of another form than ours or Kineto's: those stay in the text.
bool take_argument(ParsedEvent& event, std::string_view key, std::string_view value) {
    if (key == argument::finished) return event.is_unfinished = value == "false";
    if (key == argument::async) return event.is_async = value == "true";
    if (key == argument::resumed) return event.is_resumed = value == "true";
    if (key == argument::python_parent_id && value == "null") return true;
    const auto integer = [value] { return to_int64(value); };
    if (key == argument::external_id) return (event.external_id = integer()).has_value();
    if (key == argument::record_function_id) {
        const std::optional<int64_t> id = integer();
        if (id && *id > 0 && *id <= UINT32_MAX) event.record_function = uint32_t(*id);
        return id.has_value();
    }
    if (key == argument::event_index || key == argument::python_id || key == argument::python_parent_id) {
        return integer().has_value();
    }
    if (key == argument::correlation) {
        const std::optional<int64_t> id = integer();
        if (!id || *id == 0) return false;
        event.correlation = *id;
        return true;
    }
    if (key == argument::sequence) {
        const std::optional<int64_t> number = integer();
        if (!number || *number < 0) return false;
        event.sequence = *number;
        return true;
    }
    if (key == argument::scope) {
        const std::optional<int64_t> scope = integer();
        if (!scope || *scope < 0 || *scope > uint8_t(RecordScope::static_runtime_model)) return false;
        event.scope = scope;
        return true;
    }
    return false;
}

// Only the arguments that name and place a row count; no other is kept.
void EventParser::take_name_argument(std::string_view key) {
    if (key == "name" || key == "labels") {
        event_.label = string_or_skip();
    } else if (key == "sort_index") {
        event_.sort_index = number_or_skip();
    } else if (key == track_argument::lane_of) {
        event_.lane_of = scalar(lane_);
    } else if (key == track_argument::task_of) {
        event_.task_of = scalar(task_);
    } else if (key == track_argument::device_type) {
        event_.device_type = integer_or_skip();
    } else if (key == track_argument::device_index) {
        event_.device_index = integer_or_skip();
    } else if (key == track_argument::framework_thread) {
        event_.framework_thread = integer_or_skip();
    } else {
        cursor_.skip_value();
    }
}

}  // namespace kinetograph::format
