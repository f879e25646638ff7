#include "trace/build_notes.h"

#include <cstdio>
#include <string>

namespace kinetograph::trace {

namespace {

void add_clock_notes(const record::Recording& recording, Trace& trace) {
    const base::ClockFit& clock = recording.clock;
    trace.notes.push_back({"clock", "times are within " + std::to_string(clock.error_ns()) +
                                        " ns of CLOCK_MONOTONIC_RAW; ticks from " +
                                        base::tick_source_name(recording.tick_source)});
    if (clock.wall_stepped())
        trace.notes.push_back(
            {"clock", "the wall clock was stepped by " + std::to_string(clock.wall_drift_ns()) +
                          " ns while recording; times keep the offset of the session's start"});
}

void add_count(const char* kind, uint64_t count, const char* text, Trace& trace) {
    if (count != 0) trace.notes.push_back({kind, std::to_string(count) + text});
}

void add_cost_note(double scope_cost_ns, Trace& trace) {
    char text[160];
    std::snprintf(text, sizeof text, "recording cost about %.3f ms: %zu events at %.0f ns",
                  double(trace.size()) * scope_cost_ns / 1e6, trace.size(), scope_cost_ns);
    trace.notes.push_back({"cost", text});
}

}  // namespace

void add_notes(const record::Recording& recording, const LeftOut& left_out, double scope_cost_ns,
               Trace& trace) {
    for (const auto& [kind, text] : recording.notes) trace.notes.push_back({kind, text});
    if (!trace.storage.directory.empty() && !trace.start_ns.in_file() && trace.size() > rows_between_drops)
        trace.notes.push_back(
            {"memory", "the disk was full, so the trace was built in memory, beyond the limit"});
    add_count("damaged", left_out.damaged,
              " events had fields or arguments that make no sense; these were left out", trace);
    add_count("brief", recording.brief_calls + left_out.brief,
              " calls were shorter than asked for and left out", trace);
    add_count("partial", left_out.doubtful,
              " calls into CUDA, or ranges of libraries, were made on threads whose asyncio tasks had scopes "
              "open at the same time, and may be counted for the wrong task; a scope around them settles it",
              trace);
    add_clock_notes(recording, trace);
    if (scope_cost_ns != 0) add_cost_note(scope_cost_ns, trace);
}

}  // namespace kinetograph::trace
