#include "format/json_check.h"

#include "format/event_parser.h"
#include "format/input_window.h"
#include "format/json_cursor.h"

namespace kinetograph::format {

namespace {

Source in_one_piece(std::string_view text) {
    return [text]() mutable { return std::exchange(text, {}); };
}

std::string in_braces(std::string_view text) {
    if (text.starts_with('{')) return std::string(text);
    std::string object = "{";
    object += text;
    object += '}';
    return object;
}

void require_end(JsonCursor& cursor) {
    if (cursor.whole([&] { return cursor.peek(); }) != '\0') cursor.fail("text after the end of the value");
}

}  // namespace

std::string compact_json(std::string_view value) {
    const Source source = in_one_piece(value);
    InputWindow window(source);
    JsonCursor cursor(window);
    std::string compact = cursor.whole([&] {
        cursor.peek();
        const char* start = cursor.at();
        cursor.skip_value();
        std::string text;
        append_compact(text, cursor.since(start));
        return text;
    });
    require_end(cursor);
    return compact;
}

EventArgs parse_event_args(std::string_view text, std::span<const std::string_view> left_out) {
    const std::string object = in_braces(text);
    const Source source = in_one_piece(object);
    InputWindow window(source);
    JsonCursor cursor(window);
    EventParser parser(cursor);
    const ParsedEvent& event =
        cursor.whole([&]() -> const ParsedEvent& { return parser.parse_args(left_out); });
    EventArgs args{event.correlation,   event.sequence, event.record_function,     event.scope,
                   event.is_unfinished, event.is_async, std::string(event.members)};
    require_end(cursor);
    return args;
}

bool clean_members(std::string_view text, std::span<const std::string_view> left_out, std::string& clean) {
    try {
        clean = std::move(parse_event_args(text, left_out).members);
        return true;
    } catch (const ParseError&) {
        return false;
    }
}

}  // namespace kinetograph::format
