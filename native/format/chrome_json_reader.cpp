// The document around the events: keys in any order, the array of events anywhere among them.
#include "format/chrome_json.h"
#include "format/event_parser.h"
#include "format/input_window.h"
#include "format/json_cursor.h"
#include "format/json_number.h"
#include "format/trace_filler.h"

namespace kinetograph::format {

namespace {

constexpr size_t most_events = INT32_MAX;  // rows are 32-bit numbers in links

class Reader {
public:
    Reader(const Source& source, const trace::Storage& storage)
        : window_(source), cursor_(window_), parser_(cursor_), filler_(storage) {}

    trace::Trace read() {
        cursor_.whole([this] { skip_byte_order_mark(); });
        const char first = cursor_.whole([this] { return cursor_.peek(); });
        try {
            first == '[' ? read_events() : read_document();
            require_end();
        } catch (const EndOfText& error) {
            // Whoever wrote it died, or uses the freedom of Chrome's format to leave the end out.
            if (events_ == 0) throw;
            note_missing_end(error.offset);
        }
        if (!filler_.finish())
            cursor_.fail_at(cursor_.at(), "baseTimeNanoseconds puts the times out of range");
        return filler_.take();
    }

private:
    // What a key and its value are, apart from the events: taken only when whole.
    struct Member {
        std::string key;
        std::string value;
        bool holds_events = false;
    };

    void require_end() {
        const char after = cursor_.whole([this] { return cursor_.peek(); });
        if (after != '\0' || cursor_.at() != window_.end()) cursor_.fail("text after the end of the trace");
    }

    void note_missing_end(size_t offset) {
        filler_.add_note("truncated", "the file ends at byte " + std::to_string(offset) + ", after " +
                                          std::to_string(events_) +
                                          " events, in the middle: what came behind is missing");
    }

    void skip_byte_order_mark() {
        constexpr std::string_view mark = "\xEF\xBB\xBF";
        const bool may_follow = cursor_.peek() == mark[0] && !window_.is_complete();
        if (may_follow && window_.end() - cursor_.at() < 3) throw NeedMore{};
        if (std::string_view(cursor_.at(), mark.size()) == mark)
            cursor_.go_back_to(cursor_.at() + mark.size());
    }

    void read_document() {
        bool has_events = false;
        cursor_.whole([this] { open_document(); });
        if (cursor_.whole([this] { return cursor_.pass_if('}'); })) return require_events(false);
        do {
            const Member member = cursor_.whole([this] { return next_member(); });
            if (member.holds_events) {
                read_events();
                has_events = true;
            } else {
                take(member);
            }
        } while (cursor_.whole([this] { return cursor_.pass_if(','); }));
        cursor_.whole([this] { cursor_.pass('}'); });
        require_events(has_events);
    }

    void open_document() {
        if (cursor_.peek() == '\0' && cursor_.at() == window_.end())
            cursor_.fail_at(cursor_.at(), "the text is empty");
        if (!cursor_.pass_if('{'))
            cursor_.fail("expected a trace, an object in braces or an array of events");
    }

    void require_events(bool has_events) {
        if (!has_events) cursor_.fail_at(cursor_.at(), "no \"traceEvents\" in the text");
    }

    Member next_member() {
        Member member;
        const StringToken key = cursor_.key();
        append_unescaped(member.key, key.inside);
        if (member.key == "traceEvents") {
            if (cursor_.peek() != '[') cursor_.fail("expected \"traceEvents\" to be an array");
            member.holds_events = true;
            return member;
        }
        cursor_.peek();
        const char* start = cursor_.at();
        cursor_.skip_value();
        append_compact(member.value, cursor_.since(start));
        if (member.key == "kinetograph") read_notes(start);
        return member;
    }

    void take(const Member& member) {
        if (member.key == "schemaVersion" || member.key == "displayTimeUnit" || member.key == "traceName")
            return;
        if (member.key == "deviceProperties") return filler_.set_device_properties(member.value);
        if (member.key == "baseTimeNanoseconds") return take_base_time(member.value);
        if (member.key == "kinetograph") return take_notes();
        filler_.set_metadata(member.key, member.value);
    }

    void take_base_time(const std::string& value) {
        const std::optional<int64_t> base = to_int64(value);
        if (!base || *base > latest_ns || *base < -latest_ns) {
            cursor_.fail_at(cursor_.at(), "expected baseTimeNanoseconds to be an integer within 64 bits");
        }
        filler_.set_base_time(*base);
    }

    // Goes over the value of "kinetograph" a second time; other shapes than ours are passed over.
    void read_notes(const char* start) {
        notes_.clear();
        const char* end = cursor_.at();
        cursor_.go_back_to(start);
        if (cursor_.pass_if('{') && !cursor_.pass_if('}')) {
            do {
                const bool is_notes = cursor_.key().inside == "notes" && cursor_.peek() == '[';
                is_notes ? read_note_list() : cursor_.skip_value();
            } while (cursor_.pass_if(','));
        }
        cursor_.go_back_to(end);
    }

    void read_note_list() {
        cursor_.pass('[');
        if (cursor_.pass_if(']')) return;
        do {
            if (cursor_.peek() == '{') {
                read_note();
            } else {
                cursor_.skip_value();
            }
        } while (cursor_.pass_if(','));
        cursor_.pass(']');
    }

    void read_note() {
        trace::Note note;
        cursor_.pass('{');
        if (!cursor_.pass_if('}')) {
            do {
                const std::string_view key = cursor_.key().inside;
                std::string* field = key == "kind" ? &note.kind : key == "text" ? &note.text : nullptr;
                if (field != nullptr && cursor_.peek() == '"') {
                    append_unescaped(*field, cursor_.string().inside);
                } else {
                    cursor_.skip_value();
                }
            } while (cursor_.pass_if(','));
            cursor_.pass('}');
        }
        notes_.push_back(std::move(note));
    }

    void take_notes() {
        filler_.trust_track_arguments();
        for (trace::Note& note : notes_) filler_.add_note(std::move(note.kind), std::move(note.text));
    }

    void read_events() {
        cursor_.whole([this] { cursor_.pass('['); });
        if (cursor_.whole([this] { return cursor_.pass_if(']'); })) return;
        while (cursor_.whole([this] { return next_event(); })) {
        }
    }

    // The comma belongs to the event: then nothing but whole events has an effect, and one retry covers both.
    bool next_event() {
        const ParsedEvent& event = parser_.parse();
        const bool goes_on = cursor_.pass_if(',');
        // A whole event counts, even if it is the last thing in the text: the next call meets the end.
        const bool is_last_text = !goes_on && cursor_.peek() == '\0' && cursor_.at() == window_.end();
        if (!goes_on && !is_last_text) cursor_.pass(']');
        if (++events_ > most_events) cursor_.fail("more than 2^31 events");
        filler_.add(event);
        return goes_on || is_last_text;
    }

    InputWindow window_;
    JsonCursor cursor_;
    EventParser parser_;
    TraceFiller filler_;
    std::vector<trace::Note> notes_;
    size_t events_ = 0;
};

}  // namespace

trace::Trace read_chrome_json(const Source& source, const trace::Storage& storage) {
    return Reader(source, storage).read();
}

}  // namespace kinetograph::format
