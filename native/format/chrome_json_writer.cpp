// The document around the events: Kineto's keys in Kineto's order.
#include <algorithm>

#include "format/block.h"
#include "format/chrome_json.h"
#include "format/event_writer.h"

namespace kinetograph::format {

namespace {

// Kineto counts times from a grid of three months, so that all ranks of a job share the origin and
// microseconds keep their decimals in a double.
constexpr int64_t grid_ns = 7889238LL * 1'000'000'000LL;

int64_t base_time_ns(const trace::Trace& trace, int64_t first_ns) {
    if (trace.base_time_ns != 0 && trace.base_time_ns <= first_ns) return trace.base_time_ns;
    return std::max<int64_t>(first_ns, 0) / grid_ns * grid_ns;
}

// HTA finds the rank with a pattern that wants a space. A quote inside a JSON string is escaped, so behind {
// or , only a key can match.
std::string with_rank_space(std::string text) {
    constexpr std::string_view key = "\"rank\":";
    for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
        const bool is_key = at > 0 && (text[at - 1] == '{' || text[at - 1] == ',');
        if (is_key) text.insert(at + key.size(), 1, ' ');
    }
    return text;
}

void write_metadata(const trace::Trace& trace, Block& out) {
    for (const auto& [key, value] : trace.metadata) {
        out.put_quoted(key);
        out.put(":");
        out.put(key == "distributedInfo" ? with_rank_space(value) : value);
        out.put(",\n");
    }
}

void write_notes(const trace::Trace& trace, Block& out) {
    out.put("\"kinetograph\":{\"version\":1,\"notes\":[");
    for (size_t i = 0; i < trace.notes.size(); ++i) {
        out.put(i == 0 ? "{\"kind\":" : ",{\"kind\":");
        out.put_quoted(trace.notes[i].kind);
        out.put(",\"text\":");
        out.put_quoted(trace.notes[i].text);
        out.put("}");
    }
    out.put("]},\n");
}

}  // namespace

void write_chrome_json(const trace::Trace& trace, Sink& sink, std::string_view trace_name) {
    const int64_t first_ns = trace::first_start_ns(trace);
    const int64_t base_ns = base_time_ns(trace, first_ns);
    Block out(sink);
    out.put("{\"schemaVersion\":1,\n\"deviceProperties\":");
    out.put(trace.device_properties);
    out.put(",\n");
    write_metadata(trace, out);
    write_notes(trace, out);
    out.put("\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":");
    out.put(std::to_string(base_ns));
    out.put(",\n\"traceEvents\":[");
    EventWriter events(trace, out, base_ns);
    events.write_names(first_ns);
    events.write_events();
    events.write_window();
    out.put("\n],\n\"traceName\":");
    out.put_quoted(trace_name);
    out.put("}\n");
    out.flush();
}

}  // namespace kinetograph::format
