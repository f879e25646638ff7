#include "trace/told_rows.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kinetograph::trace {

namespace {

using record::Record;
using record::RecordKind;
using record::Window;

constexpr std::string_view cut_off =
    "the last second of the GPU, and of calls into CUDA, may be missing: CUPTI tells of them once a second "
    "and when a session stops, which this one did not";

std::string number(double value) {
    char digits[48];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

bool is_waiting(uint8_t category) {
    return category == uint8_t(Category::cuda_sync) || category == uint8_t(Category::cuda_event);
}

// No collector tells of annotations, but the one that times scopes.
bool is_timed_scope(const Record& record) {
    return record.kind == RecordKind::device_work &&
           record.category == uint8_t(Category::gpu_user_annotation);
}

// As Kineto has it, bytes per nanosecond.
std::string bandwidth(uint64_t bytes, int64_t duration_ns) {
    return duration_ns <= 0 ? "\"N/A\"" : number(double(bytes) / double(duration_ns));
}

}  // namespace

void ToldRows::write(const record::ThreadRecording& teller, const Record& record) {
    switch (record.kind) {
        case RecordKind::device_work:
            return write_work(teller, record);
        case RecordKind::thread_span:
            return write_call(teller, record);
        case RecordKind::device_memory:
            return see_memory(teller, record);
        case RecordKind::device_counter:
            return write_counter(teller, record);
        case RecordKind::metadata:
            metadata_[std::string(recording_.names(record.name))] = text_of(record);
            return;
        case RecordKind::note: {
            if (!is_of_this_session(record)) return;
            notes_[{std::string(recording_.names(record.name)), std::string(text_of(record))}] +=
                record.correlation;
            return;
        }
        default:
            return;
    }
}

// A session file holds notes of its own session only, and a short ring ends before the last of them.
bool ToldRows::is_of_this_session(const Record& note) const {
    const Window& window = recording_.window;
    return recording_.is_recovered || (note.start >= window.begin && note.start <= window.end);
}

bool ToldRows::wants(const record::ThreadRecording& teller, const Record& record, size_t struct_bytes,
                     Clipped& clipped) const {
    return record.payload * sizeof record >= struct_bytes && makes_sense(record.category, record.scope) &&
           filter_.wants_category(record.category) && wants_told(record) &&
           clip(record.start, record.last_tick(), record.flags, teller.windows, clipped);
}

// What other sessions asked for is told as well.
bool ToldRows::wants_told(const Record& record) const {
    const Wanted& wanted = options_.wanted;
    if (!is_timed_scope(record))
        return wanted.device_work && (wanted.device_waits || !is_waiting(record.category));
    const auto is_its_thread = [&](const record::ThreadRecording& thread) {
        return thread.tid == int32_t(record.correlation);
    };
    return wanted.timed_scopes &&
           std::any_of(recording_.threads.begin(), recording_.threads.end(), is_its_thread);
}

// Whole, even where the window cuts it: how long a kernel ran is worth more than when we looked.
void ToldRows::write_work(const record::ThreadRecording& teller, const Record& record) {
    record::DeviceWork work;
    Clipped clipped;
    if (!wants(teller, record, sizeof work, clipped)) return;
    std::memcpy(&work, record.payload_bytes(), sizeof work);
    has_device_work_ = true;
    const bool is_node = (work.flags & record::work_of_graph) != 0 && record.correlation != 0;
    if (options_.wanted.whole_graphs && is_node) return graphs_.see(record, work);
    const size_t row = rows_.add_row();
    rows_.write_row(row, device_rows_.track(work.place), {record.start, record.last_tick(), 0},
                    rows_.name(record.name));
    rows_.trace().category[row] = record.category;
    if (is_timed_scope(record)) return number_timed_scope(row, record, work);
    write_work_args(row, record, work);
    rows_.write_correlation(row, record.correlation);
}

void ToldRows::number_timed_scope(size_t row, const Record& record, const record::DeviceWork& work) {
    timed_scopes_.push_back({int32_t(record.correlation), rows_.wall(work.bytes)});
    rows_.write_correlation(row, 1);
    rows_.trace().correlation[row] = -int64_t(timed_scopes_.size());
}

void ToldRows::write_work_args(size_t row, const Record& record, const record::DeviceWork& work) {
    if (record.payload * sizeof record > sizeof work) return rows_.write_payload(row, record, sizeof work);
    rows_.write_members(row, work.members);
    if (!(work.flags & record::work_has_bytes)) return;
    std::string text(rows_.trace().args_of(row));
    text += (text.empty() ? "\"bytes\":" : ",\"bytes\":") + std::to_string(work.bytes);
    text += ",\"memory bandwidth (GB/s)\":" + bandwidth(work.bytes, rows_.trace().duration_ns[row]);
    rows_.write_args(row, text);
}

void ToldRows::write_call(const record::ThreadRecording& teller, const Record& record) {
    record::ThreadSpan call;
    Clipped clipped;
    if (!wants(teller, record, sizeof call, clipped)) return;
    std::memcpy(&call, record.payload_bytes(), sizeof call);
    const size_t row = rows_.add_row();
    rows_.write_row(row, track_of_(call.tid, record.start), clipped, rows_.name(record.name));
    rows_.trace().category[row] = record.category;
    if (record.payload * sizeof record > sizeof call)
        rows_.write_payload(row, record, sizeof call);
    else
        rows_.write_members(row, call.members);
    rows_.write_correlation(row, record.correlation);
}

void ToldRows::write_counter(const record::ThreadRecording& teller, const Record& record) {
    record::DeviceCounter counter;
    Clipped clipped;
    if (!wants(teller, record, sizeof counter, clipped)) return;
    std::memcpy(&counter, record.payload_bytes(), sizeof counter);
    rows_.write_counter(rows_.add_row(), device_rows_.track(counter.place), record, clipped);
}

void ToldRows::see_memory(const record::ThreadRecording& teller, const Record& record) {
    Clipped clipped;
    if (options_.wanted.device_memory && record.payload * sizeof record >= sizeof(record::DeviceMemory) &&
        clip(record.start, record.start, 0, teller.windows, clipped))
        memory_.see(record);
}

void ToldRows::write_gathered() {
    graphs_.write();
    memory_.write([this] { return track_of_(int32_t(recording_.pid), 0); });
}

std::string_view ToldRows::text_of(const Record& record) const {
    uint32_t bytes = 0;
    if (record.payload == 0) return {};
    std::memcpy(&bytes, record.payload_bytes(), sizeof bytes);
    return {record.payload_bytes() + sizeof bytes,
            std::min<size_t>(bytes, record.payload * sizeof record - sizeof bytes)};
}

void ToldRows::finish() {
    Trace& trace = rows_.trace();
    const auto is_complete = metadata_.extract(std::string(record::device_is_complete));
    if (recording_.is_recovered && is_complete && is_complete.mapped() == "0")
        trace.notes.push_back({"cuda", std::string(cut_off)});
    for (const auto& [key, json] : metadata_) {
        std::string clean;
        if (options_.clean_members && !options_.clean_members("\"x\":" + json, {}, clean)) continue;
        if (key == "deviceProperties")
            trace.device_properties = json;
        else
            trace.metadata.emplace_back(key, json);
    }
    for (const auto& [note, count] : notes_)
        trace.notes.push_back(
            {note.first, count == 0 ? note.second : std::to_string(count) + " " + note.second});
}

}  // namespace kinetograph::trace
