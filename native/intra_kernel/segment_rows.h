// The records of segments as rows of a trace, on tracks that others make.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "intra_kernel/buffer.h"
#include "trace/trace.h"

namespace kinetograph::intra_kernel {

// Where the rows of one segment go, and when they were.
struct SegmentPlace {
    uint32_t track = 0;
    std::string_view args;     // of each row, JSON members
    double cycles_per_ns = 0;  // 0: not known
    int64_t offset_ns = 0;     // what has to be added to a globaltimer
    int64_t until_ns = 0;      // when its kernel ended; 0: not known
};

// Whoever calls sorts the trace, and fills those columns that not every trace has.
class SegmentRows {
public:
    explicit SegmentRows(trace::Trace& trace) : trace_(trace) { trace.fill(trace.args, trace::TextRange{}); }

    // What tasks are called from now on, by number; others are called "task 7".
    void name_tasks(const std::vector<std::string>& names);
    void add(const Segment& segment, const SegmentPlace& place);
    // After the last segment: what was lost, and what did not match.
    void add_notes();
    // Torn segments are told of together with those that the buffer has none of.
    Damage& damage() { return damage_; }

private:
    void add_event(const Record& record, int64_t time_ns);
    void begin_range(const Record& record, int64_t time_ns);
    void end_range(const Record& record, int64_t time_ns);
    void close_open_ranges(int64_t time_ns);
    size_t add_row(const Record& record, int64_t time_ns, trace::EventKind kind);
    void write_payload(size_t row, const char* key, const Record& record);
    uint32_t name_of(uint32_t task);

    trace::Trace& trace_;
    std::vector<std::string> task_names_;
    Damage damage_;
    uint64_t unclosed_ = 0, unopened_ = 0;
    uint64_t early_ = 0;  // ends that may be, because the clock wrapped
    uint32_t track_ = 0;
    trace::TextRange segment_args_;
    std::array<std::optional<uint32_t>, KG_TASKS> names_;
    std::array<std::vector<size_t>, KG_TASKS> open_rows_;  // by task, of one segment
    std::vector<uint32_t> open_tasks_;                     // those that may have one
};

// Blocks that found no segment, and segments that are none.
void note_losses(trace::Trace& trace, uint64_t refused, uint64_t damaged);

// What each row of a segment says.
std::string segment_args(const Segment& segment, uint64_t launch);

}  // namespace kinetograph::intra_kernel
