#include "intra_kernel/decode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <tuple>

#include "intra_kernel/buffer.h"
#include "intra_kernel/segment_clock.h"

namespace kinetograph::intra_kernel {

namespace {

using trace::EventKind;
using trace::TextRange;
using trace::Trace;

// As a JSON value.
std::string payload_text(const Record& record) {
    if (record.payload_type == KG_PAYLOAD_INT) return std::to_string(int64_t(record.payload));
    float value;
    const uint32_t bits = uint32_t(record.payload);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) return std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
    char text[32];
    return {text, size_t(std::snprintf(text, sizeof text, "%.9g", double(value)))};
}

bool has_payload(const Record& record) {
    return record.payload_type == KG_PAYLOAD_INT || record.payload_type == KG_PAYLOAD_FLOAT;
}

class Decoder {
public:
    explicit Decoder(const DecodeOptions& options) : options_(options) {}

    Trace decode(std::span<const Slot> slots);

private:
    void look_at_clocks(const Segment& segment);
    void add_track(const Segment& segment);
    void add_events(const Segment& segment);
    void add_event(const Record& record, int64_t time_ns);
    void begin_range(const Record& record, int64_t time_ns);
    void end_range(const Record& record, int64_t time_ns);
    void close_open_ranges(int64_t time_ns);
    size_t add_row(const Record& record, int64_t time_ns, EventKind kind);
    void write_payload(size_t row, const char* key, const Record& record);
    uint32_t name_of(uint32_t task);
    void add_notes(const Buffer& buffer);
    void note(const char* kind, std::string text) { trace_.notes.push_back({kind, std::move(text)}); }

    const DecodeOptions& options_;
    Trace trace_;
    RateFinder rates_;
    Damage damage_;
    uint64_t unclosed_ = 0, unopened_ = 0;
    TextRange segment_args_;
    std::array<std::optional<uint32_t>, KG_TASKS> names_;
    std::array<std::vector<size_t>, KG_TASKS> open_rows_;  // by task, of one segment
    std::vector<uint32_t> open_tasks_;                     // those that may have one
};

auto place(const Segment& segment) {
    return std::tuple(segment.header.sm, segment.header.block, segment.header.group);
}

ClockPair claimed(const Segment& segment) {
    return {segment.header.claimed.clock, segment.header.claimed.value};
}

Trace Decoder::decode(std::span<const Slot> slots) {
    Buffer buffer = find_segments(slots);
    for (const Segment& segment : buffer.segments) look_at_clocks(segment);
    // Rows of a trace stand by track; those of one track are in the order they were claimed already.
    std::stable_sort(buffer.segments.begin(), buffer.segments.end(),
                     [](const Segment& a, const Segment& b) { return place(a) < place(b); });
    const Segment* before = nullptr;
    for (const Segment& segment : buffer.segments) {
        if (before == nullptr || place(*before) != place(segment)) add_track(segment);
        add_events(segment);
        before = &segment;
    }
    add_notes(buffer);
    trace::sort_events(trace_);
    return std::move(trace_);
}

void Decoder::look_at_clocks(const Segment& segment) {
    rates_.begin(claimed(segment));
    SegmentReader reader(segment.slots, segment.header.claimed.sum);
    for (Record record; reader.next(record);)
        if (record.globaltimer != 0) rates_.add({record.clock, record.globaltimer});
    rates_.end();
}

void Decoder::add_track(const Segment& segment) {
    const SegmentHeader& header = segment.header;
    const std::string sm = "SM " + std::to_string(header.sm);
    if (trace_.processes.empty() || trace_.processes.back().name != sm)
        trace_.processes.push_back({"\"" + sm + "\"", sm, "", std::to_string(header.sm)});
    std::string name = "block " + std::to_string(header.block);
    if (header.group_count > 1) name += " group " + std::to_string(header.group);
    const uint64_t number = uint64_t(header.block) * 256 + header.group;
    trace_.tracks.push_back({uint32_t(trace_.processes.size() - 1), std::to_string(number), std::move(name),
                             std::to_string(number), -1, options_.device_type, options_.device_index});
}

void Decoder::add_events(const Segment& segment) {
    const std::string args =
        "\"block\":" + std::to_string(segment.header.block) + ",\"launch\":" + std::to_string(segment.launch);
    segment_args_ = {trace_.args_text.size(), args.size()};
    trace_.args_text.append(args.data(), args.size());
    look_at_clocks(segment);
    SegmentClock clock(claimed(segment), rates_.rate());
    SegmentReader reader(segment.slots, segment.header.claimed.sum);
    int64_t time_ns = 0;
    for (Record record; reader.next(record);) {
        time_ns = clock.to_ns(record.clock, record.globaltimer) + options_.offset_ns;
        add_event(record, time_ns);
    }
    close_open_ranges(time_ns);
    reader.count_damage(damage_);
}

void Decoder::add_event(const Record& record, int64_t time_ns) {
    if (record.kind == KG_KIND_START) return begin_range(record, time_ns);
    if (record.kind == KG_KIND_END) return end_range(record, time_ns);
    write_payload(add_row(record, time_ns, EventKind::instant), "payload", record);
}

void Decoder::begin_range(const Record& record, int64_t time_ns) {
    std::vector<size_t>& open = open_rows_[record.task];
    if (open.empty()) open_tasks_.push_back(record.task);
    open.push_back(add_row(record, time_ns, EventKind::span));
    write_payload(open.back(), "payload", record);
}

void Decoder::end_range(const Record& record, int64_t time_ns) {
    std::vector<size_t>& open = open_rows_[record.task];
    if (open.empty()) {
        ++unopened_;
        return;
    }
    const size_t row = open.back();
    open.pop_back();
    trace_.duration_ns[row] = time_ns - trace_.start_ns[row];
    write_payload(row, "end_payload", record);
}

void Decoder::close_open_ranges(int64_t time_ns) {
    for (const uint32_t task : open_tasks_) {
        for (const size_t row : open_rows_[task]) {
            trace_.duration_ns[row] = time_ns - trace_.start_ns[row];
            trace_.flags[row] |= trace::event_unfinished;
            ++unclosed_;
        }
        open_rows_[task].clear();
    }
    open_tasks_.clear();
}

size_t Decoder::add_row(const Record& record, int64_t time_ns, EventKind kind) {
    trace_.start_ns.push_back(time_ns);
    trace_.duration_ns.push_back(0);
    trace_.name.push_back(name_of(record.task));
    trace_.track.push_back(uint32_t(trace_.tracks.size() - 1));
    trace_.category.push_back(uint8_t(trace::Category::intra_kernel));
    trace_.kind.push_back(uint8_t(kind));
    trace_.scope.push_back(0);
    trace_.flags.push_back(0);
    trace_.args.push_back(segment_args_);
    return trace_.size() - 1;
}

void Decoder::write_payload(size_t row, const char* key, const Record& record) {
    if (!has_payload(record)) return;
    const std::string text = std::string(trace_.args_of(row)) + ",\"" + key + "\":" + payload_text(record);
    trace_.args[row] = {trace_.args_text.size(), text.size()};
    trace_.args_text.append(text.data(), text.size());
}

uint32_t Decoder::name_of(uint32_t task) {
    std::optional<uint32_t>& id = names_[task];
    if (!id)
        id = trace_.strings.intern(task < options_.task_names.size() ? options_.task_names[task]
                                                                     : "task " + std::to_string(task));
    return *id;
}

void Decoder::add_notes(const Buffer& buffer) {
    if (!buffer.is_known) note("damaged", "the profiler buffer has no header that this version knows");
    if (buffer.refused > 0)
        note("dropped", std::to_string(buffer.refused) +
                            " blocks found no free segment: raise max_num_profile_slots, or lower "
                            "slots_per_segment, or reset the buffer more often");
    if (damage_.lost > 0)
        note("dropped", "about " + std::to_string(damage_.lost) + " records found no slot, in " +
                            std::to_string(damage_.full) + " full segments: raise slots_per_segment");
    if (buffer.damaged + damage_.torn > 0)
        note("damaged", std::to_string(buffer.damaged + damage_.torn) +
                            " segments of the profiler buffer hold something else than records, or are "
                            "still being written");
    if (unclosed_ + unopened_ > 0)
        note("unbalanced", std::to_string(unclosed_) + " ranges have no end, and " +
                               std::to_string(unopened_) + " ends have no start");
}

}  // namespace

Trace decode(std::span<const std::byte> bytes, const DecodeOptions& options) {
    Decoder decoder(options);
    const size_t slot_count = bytes.size() / sizeof(Slot);
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(Slot) == 0)
        return decoder.decode({reinterpret_cast<const Slot*>(bytes.data()), slot_count});
    std::vector<Slot> aligned(slot_count);
    if (slot_count > 0) std::memcpy(aligned.data(), bytes.data(), slot_count * sizeof(Slot));
    return decoder.decode(aligned);
}

}  // namespace kinetograph::intra_kernel
