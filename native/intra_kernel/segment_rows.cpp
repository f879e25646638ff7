#include "intra_kernel/segment_rows.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "intra_kernel/segment_clock.h"

namespace kinetograph::intra_kernel {

namespace {

using trace::EventKind;

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

// Ends read no globaltimer. In a stretch without one that is longer than the clock counts, they may be too
// early by as much as it counts. Where the rate is not known, it is taken for four GHz.
class EndsInDoubt {
public:
    EndsInDoubt(int64_t begin_ns, double rate)
        : wrap_ns_(0x1p32 / (rate > 0 ? rate : 4)), last_ns_(begin_ns) {}

    void see(const Record& record, int64_t time_ns) {
        if (record.globaltimer == 0)
            ++ends_;
        else
            close(time_ns);
    }
    void close(int64_t time_ns) {
        if (double(time_ns - last_ns_) > wrap_ns_) count_ += ends_;
        ends_ = 0;
        last_ns_ = time_ns;
    }
    uint64_t count() const { return count_; }

private:
    double wrap_ns_;
    int64_t last_ns_;
    uint64_t ends_ = 0, count_ = 0;
};

}  // namespace

void SegmentRows::name_tasks(const std::vector<std::string>& names) {
    task_names_ = names;
    names_.fill(std::nullopt);
}

void SegmentRows::add(const Segment& segment, const SegmentPlace& place) {
    track_ = place.track;
    segment_args_ = {trace_.args_text.size(), place.args.size()};
    trace_.args_text.append(place.args.data(), place.args.size());
    SegmentClock clock(claimed(segment), place.cycles_per_ns);
    SegmentReader reader(segment.slots, segment.header.claimed.sum);
    const ClockPair begin = claimed(segment);
    EndsInDoubt doubt(clock.to_ns(begin.clock, begin.globaltimer) + place.offset_ns, place.cycles_per_ns);
    int64_t time_ns = 0;
    for (Record record; reader.next(record);) {
        time_ns = clock.to_ns(record.clock, record.globaltimer) + place.offset_ns;
        doubt.see(record, time_ns);
        add_event(record, time_ns);
    }
    doubt.close(place.until_ns);
    early_ += doubt.count();
    close_open_ranges(time_ns);
    reader.count_damage(damage_);
}

void SegmentRows::add_event(const Record& record, int64_t time_ns) {
    if (record.kind == KG_KIND_START) return begin_range(record, time_ns);
    if (record.kind == KG_KIND_END) return end_range(record, time_ns);
    write_payload(add_row(record, time_ns, EventKind::instant), "payload", record);
}

void SegmentRows::begin_range(const Record& record, int64_t time_ns) {
    std::vector<size_t>& open = open_rows_[record.task];
    if (open.empty()) open_tasks_.push_back(record.task);
    open.push_back(add_row(record, time_ns, EventKind::span));
    write_payload(open.back(), "payload", record);
}

void SegmentRows::end_range(const Record& record, int64_t time_ns) {
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

void SegmentRows::close_open_ranges(int64_t time_ns) {
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

size_t SegmentRows::add_row(const Record& record, int64_t time_ns, EventKind kind) {
    trace_.start_ns.push_back(time_ns);
    trace_.duration_ns.push_back(0);
    trace_.name.push_back(name_of(record.task));
    trace_.track.push_back(track_);
    trace_.category.push_back(uint8_t(trace::Category::intra_kernel));
    trace_.kind.push_back(uint8_t(kind));
    trace_.scope.push_back(0);
    trace_.flags.push_back(0);
    trace_.args.push_back(segment_args_);
    return trace_.size() - 1;
}

void SegmentRows::write_payload(size_t row, const char* key, const Record& record) {
    if (!has_payload(record)) return;
    const std::string text = std::string(trace_.args_of(row)) + ",\"" + key + "\":" + payload_text(record);
    trace_.args[row] = {trace_.args_text.size(), text.size()};
    trace_.args_text.append(text.data(), text.size());
}

uint32_t SegmentRows::name_of(uint32_t task) {
    std::optional<uint32_t>& id = names_[task];
    if (!id)
        id = trace_.strings.intern(task < task_names_.size() ? task_names_[task]
                                                             : "task " + std::to_string(task));
    return *id;
}

void SegmentRows::add_notes() {
    if (damage_.lost > 0)
        trace_.notes.push_back({"dropped", "about " + std::to_string(damage_.lost) +
                                               " records found no slot, in " + std::to_string(damage_.full) +
                                               " full segments: raise slots_per_segment"});
    if (early_ > 0)
        trace_.notes.push_back(
            {"clock", std::to_string(early_) +
                          " ends of ranges may be seconds too early: the clock of an SM begins anew after "
                          "2^32 cycles, and no start or mark stands near them"});
    if (unclosed_ + unopened_ > 0)
        trace_.notes.push_back({"unbalanced", std::to_string(unclosed_) + " ranges have no end, and " +
                                                  std::to_string(unopened_) + " ends have no start"});
}

void note_losses(trace::Trace& trace, uint64_t refused, uint64_t damaged) {
    if (refused > 0)
        trace.notes.push_back(
            {"dropped", std::to_string(refused) +
                            " blocks found no free segment: raise max_num_profile_slots, or lower "
                            "slots_per_segment, or reset the buffer more often"});
    if (damaged > 0)
        trace.notes.push_back(
            {"damaged", std::to_string(damaged) +
                            " segments of the profiler buffer hold something else than records, or are "
                            "still being written"});
}

std::string segment_args(const Segment& segment, uint64_t launch) {
    return "\"block\":" + std::to_string(segment.header.block) +
           ",\"sm\":" + std::to_string(segment.header.sm) + ",\"launch\":" + std::to_string(launch);
}

}  // namespace kinetograph::intra_kernel
