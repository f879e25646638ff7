// Traces of a few lines, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/chrome_json.h"
#include "format/perfetto.h"
#include "trace/trace.h"
#include "trace/track_index.h"

namespace kinetograph::test {

struct Row {
    std::string_view name;
    int64_t start_ns, end_ns;
    uint32_t track = 0;
    trace::Category category = trace::Category::user_annotation;
    trace::EventKind kind = trace::EventKind::span;
};

inline void add(trace::Trace& trace, const Row& row) {
    while (trace.tracks.size() <= row.track) {
        trace::TrackIndex(trace).track("1", std::to_string(trace.tracks.size() + 1));
    }
    trace.start_ns.push_back(row.start_ns);
    trace.duration_ns.push_back(row.end_ns - row.start_ns);
    trace.name.push_back(trace.strings.intern(row.name));
    trace.track.push_back(row.track);
    trace.category.push_back(uint8_t(row.category));
    trace.kind.push_back(uint8_t(row.kind));
    trace.scope.push_back(row.category == trace::Category::user_annotation ? 7 : 0);
    trace.flags.push_back(0);
}

inline trace::Trace trace_of(std::initializer_list<Row> rows) {
    trace::Trace trace;
    for (const Row& row : rows) add(trace, row);
    return trace;
}

// Arguments as a Trace keeps them: members without braces.
inline void set_args(trace::Trace& trace, size_t row, std::string_view members) {
    trace.fill<trace::TextRange>(trace.args, {});
    trace.args[row] = {trace.args_text.size(), members.size()};
    trace.args_text.append(members.data(), members.size());
}

struct StringSink : format::Sink {
    std::string text;
    void write(std::string_view block) override { text += block; }
};

inline std::string written(const trace::Trace& trace) {
    StringSink sink;
    format::write_chrome_json(trace, sink, "name");
    return sink.text;
}

inline std::string written_perfetto(const trace::Trace& trace) {
    StringSink sink;
    format::write_perfetto(trace, sink);
    return sink.text;
}

// Gives the text in pieces of `piece` bytes.
inline format::Source in_pieces(std::string_view& text, size_t piece) {
    return [&text, piece] {
        const std::string_view next = text.substr(0, piece);
        text.remove_prefix(next.size());
        return next;
    };
}

inline trace::Trace read(std::string_view text, size_t piece = 1 << 20) {
    return format::read_chrome_json(in_pieces(text, piece));
}

inline trace::Trace read_perfetto(std::string_view bytes, size_t piece = 1 << 20) {
    return format::read_perfetto(in_pieces(bytes, piece));
}

}  // namespace kinetograph::test
