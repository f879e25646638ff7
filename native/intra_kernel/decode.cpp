#include "intra_kernel/decode.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "intra_kernel/buffer.h"
#include "intra_kernel/segment_clock.h"
#include "intra_kernel/segment_rows.h"

namespace kinetograph::intra_kernel {

namespace {

using trace::Trace;

auto place(const Segment& segment) {
    return std::tuple(segment.header.sm, segment.header.block, segment.header.group);
}

void add_track(Trace& trace, const Segment& segment, const DecodeOptions& options) {
    const SegmentHeader& header = segment.header;
    const std::string sm = "SM " + std::to_string(header.sm);
    if (trace.processes.empty() || trace.processes.back().name != sm)
        trace.processes.push_back({"\"" + sm + "\"", sm, "", std::to_string(header.sm)});
    const std::string number = std::to_string(uint64_t(header.block) * 256 + header.group);
    trace.tracks.push_back({uint32_t(trace.processes.size() - 1), number, block_name(header), number, -1,
                            options.device_type, options.device_index});
}

}  // namespace

Trace decode(std::span<const std::byte> bytes, const DecodeOptions& options) {
    std::vector<Slot> copy;
    Buffer buffer = find_segments(aligned_slots(bytes, copy));
    RateFinder rates = rates_of(buffer);
    // Rows of a trace stand by track; those of one track are in the order they were claimed already.
    std::stable_sort(buffer.segments.begin(), buffer.segments.end(),
                     [](const Segment& a, const Segment& b) { return place(a) < place(b); });
    Trace trace;
    SegmentRows rows(trace);
    rows.name_tasks(options.task_names);
    const Segment* before = nullptr;
    for (const Segment& segment : buffer.segments) {
        if (before == nullptr || place(*before) != place(segment)) add_track(trace, segment, options);
        look_at_clocks(segment, rates);
        rows.add(segment, {uint32_t(trace.tracks.size() - 1), segment_args(segment, segment.launch),
                           rates.rate(), options.offset_ns});
        before = &segment;
    }
    if (!buffer.is_known)
        trace.notes.push_back({"damaged", "the profiler buffer has no header that this version knows"});
    note_losses(trace, buffer.refused, buffer.damaged + rows.damage().torn);
    rows.add_notes();
    trace::sort_events(trace);
    return trace;
}

}  // namespace kinetograph::intra_kernel
