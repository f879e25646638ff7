// Turns parsed events into rows of a Trace, and what only the JSON has into links, names and notes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/begin_ends.h"
#include "format/event_parser.h"
#include "trace/trace.h"
#include "trace/track_index.h"

namespace kinetograph::format {

class TraceFiller {
public:
    explicit TraceFiller(const trace::Storage& storage);

    void add(const ParsedEvent& event);
    // For formats whose events are not Kineto's: adds a row whatever it is called, and returns it. The event
    // has a time.
    uint32_t add_event(const ParsedEvent& event, trace::EventKind kind) {
        add_row(event, kind);
        return static_cast<uint32_t>(trace_.size() - 1);
    }
    // Ends a span that was added without its duration, with arguments known only now.
    void end_span(uint32_t row, int64_t end_ns, std::string_view members);
    // It has no end in the file.
    void leave_open(uint32_t row) { unfinished_.push_back(row); }
    void skip(const std::string& what, size_t count = 1) { skipped_[what] += count; }
    const trace::Trace& trace() const { return trace_; }
    // A file of ours says where its tracks run; in others the categories tell.
    void trust_track_arguments() { has_track_arguments_ = true; }
    void add_note(std::string kind, std::string text) {
        trace_.notes.push_back({std::move(kind), std::move(text)});
    }
    void set_metadata(std::string key, std::string json);
    void set_device_properties(std::string json) { trace_.device_properties = std::move(json); }
    void set_base_time(int64_t base_ns) { trace_.base_time_ns = base_ns; }

    // To be called once, when all is read. False when times leave the range with the base added.
    bool finish();
    trace::Trace take() { return std::move(trace_); }

private:
    struct ExternalId {
        int64_t id;
        uint32_t row;
    };
    struct Task {
        uint32_t track;
        std::string thread;  // tid, as it stands in JSON
    };

    void add_row(const ParsedEvent& event, trace::EventKind kind);
    void add_span(const ParsedEvent& event);
    void add_instant(const ParsedEvent& event);
    int64_t in_range(int64_t start_ns, int64_t duration_ns);
    void add_optional_columns(const ParsedEvent& event);
    void add_begin(const ParsedEvent& event);
    void add_end(const ParsedEvent& event);
    void add_flow(const ParsedEvent& event);
    void add_name(const ParsedEvent& event);
    void add_thread_name(const ParsedEvent& event, uint32_t track);
    uint8_t category_of(const StringToken& token);
    std::string_view name_of(const ParsedEvent& event);
    void count_left_out(const ParsedEvent& event);
    std::string text_of(const StringToken& token);
    bool take_window(const ParsedEvent& event);
    bool take_marker(const ParsedEvent& event);

    void match_begins();
    void close_unfinished();
    void resolve_links();
    void resolve_tasks();
    void infer_devices();
    bool shift_to_base();
    void note_what_was_skipped();

    trace::Trace trace_;
    trace::TrackIndex tracks_;
    std::unordered_map<std::string, uint8_t> categories_;
    std::string last_category_;
    uint8_t last_category_id_ = 0;
    bool is_last_category_lost_ = false;
    std::string scratch_, name_;
    trace::Column<ExternalId> owners_, references_;
    BeginEnds begin_ends_;
    std::vector<uint32_t> unfinished_;  // rows
    std::vector<Task> tasks_;
    std::map<std::string, size_t> skipped_;
    std::array<size_t, left_out_members.size()> left_out_{};  // how many events had them
    std::unordered_map<std::string, size_t> metadata_index_;
    bool has_track_arguments_ = false;
    bool has_window_start_ = false;
};

}  // namespace kinetograph::format
