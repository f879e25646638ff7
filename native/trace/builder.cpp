#include "trace/builder.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/temporary_file.h"
#include "trace/recorded_names.h"
#include "trace/samples.h"
#include "trace/start_order.h"

namespace kinetograph::trace {

namespace {

using record::OpenScopeCopy;
using record::Record;
using record::Recording;
using record::RecordKind;
using record::RecordRange;
using record::ThreadRecording;
using record::Window;

constexpr size_t column_bytes_per_event = 48;
constexpr int64_t first_made_up_tid = 1'000'000'000;  // above every Linux thread id, below 2^31
constexpr int64_t device_sort_index = 5'000'000;
constexpr std::string_view shape_members[] = {"Input Dims", "Input Strides", "Input type"};

// One event as it will stand in the trace, times still in ticks.
struct Clipped {
    uint64_t start;
    uint64_t end;
    uint8_t flags;
};

bool is_host_event(RecordKind kind) {
    return kind == RecordKind::span || kind == RecordKind::instant || kind == RecordKind::counter ||
           kind == RecordKind::memory;
}

// Not so in a damaged file, or when foreign code gets its numbers wrong.
bool makes_sense(uint8_t category, uint8_t scope) {
    return category < record::category_count && scope <= uint8_t(record::RecordScope::static_runtime_model);
}

// [start, end] cut to the windows it touches, from the begin of the first to the end of the last; false when
// it touches none. A thread that left and came back, or was paused, has several: in order, none touching
// another.
bool clip(uint64_t start, uint64_t end, uint8_t flags, const std::vector<Window>& windows, Clipped& clipped) {
    const auto first = std::partition_point(windows.begin(), windows.end(),
                                            [&](const Window& window) { return window.end < start; });
    const auto behind =
        std::partition_point(first, windows.end(), [&](const Window& window) { return window.begin <= end; });
    if (first == behind) return false;
    const uint64_t last_end = std::prev(behind)->end;
    const bool outlives = end > last_end;
    clipped = {std::max(start, first->begin), std::min(end, last_end),
               uint8_t(outlives ? flags | record::flag_unfinished : flags)};
    return true;
}

EventKind event_kind(RecordKind kind) {
    switch (kind) {
        case RecordKind::instant:
            return EventKind::instant;
        case RecordKind::counter:
            return EventKind::counter;
        case RecordKind::memory:
            return EventKind::memory;
        default:
            return EventKind::span;
    }
}

class Builder {
public:
    Builder(Recording& recording, const BuildOptions& options)
        : recording_(recording),
          options_(options),
          trace_(storage_for(recording)),
          names_(recording, trace_.strings),
          call_names_(recording, options.clean_members, trace_),
          stack_args_(recording, options.clean_members, trace_),
          samples_(recording.window,
                   {options.wanted.samples, wants_category(uint8_t(Category::python_function))},
                   [this](uint32_t name) { return wants_call(name, 0); }) {}

    Trace build() {
        shortest_call_ = uint64_t(double(options_.calls.shortest_ns) / recording_.clock.ns_per_tick());
        trace_.window_start_ns = wall(recording_.window.begin);
        trace_.window_end_ns = wall(recording_.window.end);
        const std::string pid = std::to_string(recording_.pid);
        const std::string& name = recording_.process_name;
        trace_.processes.push_back({pid, name.empty() ? "python" : name, "CPU", pid});
        for (ThreadRecording& thread : recording_.threads) add_thread(thread);
        for (const auto& [tid, spans] : samples_.take_spans()) add_sampled_thread(tid, spans);
        add_pauses();
        if (needs_sort_) sort_events(trace_);
        add_notes();
        return std::move(trace_);
    }

private:
    // Events of one lane of the thread at hand.
    struct LaneRows {
        explicit LaneRows(const Storage& storage) : order(storage) {}
        StartOrder order;
        size_t first_row = 0;
        size_t next = 0;
        uint32_t track = 0;
        uint32_t name = 0;
        bool has_several_names = false;
    };

    static Storage storage_for(const Recording& recording) {
        size_t records = 0;
        for (const ThreadRecording& thread : recording.threads)
            for (const RecordRange& range : thread.ranges) records += size_t(range.end - range.begin);
        const size_t bytes = records * (column_bytes_per_event + sizeof(Record));
        if (bytes <= recording.memory_limit_bytes / 2) return {};
        return {recording.spill_directory.empty() ? base::temporary_directory() : recording.spill_directory};
    }

    int64_t wall(uint64_t ticks) const { return recording_.clock.to_wall_ns(ticks); }

    bool wants_category(uint8_t category) const { return (options_.wanted.categories >> category & 1) != 0; }

    bool wants_scope(uint8_t scope) const {
        return options_.wanted.scopes == 0 || (options_.wanted.scopes >> scope & 1) != 0;
    }

    static bool is_call(uint8_t category) { return category == uint8_t(Category::python_function); }

    bool wants_call(uint32_t name, uint8_t flags) const {
        if (!options_.calls.functions && !(flags & record::flag_garbage)) return false;
        if (flags & record::flag_builtin && !options_.calls.builtins) return false;
        return !options_.calls.by_name ||
               wanted_names_.get(name, [&] { return options_.calls.by_name(name); });
    }

    bool wants_call(const Record& record) const {
        return record.end - record.start >= shortest_call_ && wants_call(record.name, record.flags);
    }

    // Pages of a file are let go of once they are read: the recording is larger than memory then.
    template <class Visit>
    static void for_each_record(const ThreadRecording& thread, Visit&& visit) {
        for (const RecordRange& range : thread.ranges) {
            record::for_each_record(range, visit);
            if (range.in_file) drop_pages(range);
        }
    }

    static void drop_pages(const RecordRange& range) {
        constexpr uintptr_t page = 4096;
        const uintptr_t begin = (reinterpret_cast<uintptr_t>(range.begin) + page - 1) / page * page;
        const uintptr_t end = reinterpret_cast<uintptr_t>(range.end) / page * page;
        if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }

    LaneRows& lane_rows(uint16_t lane) {
        while (lanes_.size() <= lane) lanes_.emplace_back(trace_.storage);
        return lanes_[lane];
    }

    void add_thread(ThreadRecording& thread) {
        lanes_.clear();
        samples_.begin_thread();
        thread_name_ = thread.name.empty() ? 0 : trace_.strings.intern(thread.name);
        order_events(thread);
        place_lanes(thread);
        for_each_record(thread, [&](const Record& record) {
            Clipped clipped;
            if (wants(thread, record, clipped)) write_host_event(record, clipped);
            if (record.kind == RecordKind::device_span) write_device_event(record);
        });
        for (size_t i = thread.open.size(); i-- > 0;) write_open_scope(thread, thread.open[i]);
        lanes_.clear();
    }

    bool wants(const ThreadRecording& thread, const Record& record, Clipped& clipped) const {
        return is_host_event(record.kind) && makes_sense(record.category, record.scope) &&
               wants_category(record.category) &&
               (is_call(record.category) ? wants_call(record)
                                         : record.kind != RecordKind::span || wants_scope(record.scope)) &&
               clip(record.start, record.last_tick(), record.flags, thread.windows, clipped);
    }

    bool wants(const ThreadRecording& thread, const OpenScopeCopy& scope, Clipped& clipped) const {
        return makes_sense(uint8_t(scope.meta), uint8_t(scope.meta >> 8)) &&
               wants_category(uint8_t(scope.meta)) &&
               (is_call(uint8_t(scope.meta)) ? wants_call(scope.name, uint8_t(scope.meta >> 16))
                                             : wants_scope(uint8_t(scope.meta >> 8))) &&
               clip(scope.start, scope.seen_until, uint8_t(scope.meta >> 16) | record::flag_unfinished,
                    thread.windows, clipped);
    }

    void order_events(ThreadRecording& thread) {
        // Scopes and calls of a lane come from two stacks; together they are to be outermost first.
        std::stable_sort(thread.open.begin(), thread.open.end(),
                         [](const OpenScopeCopy& a, const OpenScopeCopy& b) { return a.start < b.start; });
        std::unordered_set<uint64_t> open_starts;
        for (const OpenScopeCopy& scope : thread.open) open_starts.insert(scope.start);
        for_each_record(thread, [&](const Record& record) {
            note_name(thread, record);
            samples_.see(record);
            if (!makes_sense(record.category, record.scope)) ++damaged_;
            Clipped clipped;
            if (!wants(thread, record, clipped)) return;
            lane_rows(record.lane).order.add(int64_t(clipped.start), int64_t(clipped.end));
            if (is_call(record.category))
                own_calls_.see(clipped.start, clipped.end, record.name, recording_.window.begin);
            if (!open_starts.empty() && open_starts.contains(record.start)) forget_open(thread, record);
        });
        for (size_t i = thread.open.size(); i-- > 0;) {
            Clipped clipped;
            if (!wants(thread, thread.open[i], clipped)) continue;
            lane_rows(thread.open[i].lane).order.add(int64_t(clipped.start), int64_t(clipped.end));
            if (is_call(uint8_t(thread.open[i].meta)))
                own_calls_.see(clipped.start, clipped.end, thread.open[i].name, recording_.window.begin);
        }
        if (!own_calls_.empty()) samples_.has_own_calls(thread.tid, std::exchange(own_calls_, {}));
        for (LaneRows& lane : lanes_) lane.order.finish();
        // Scopes that were open when the thread left end with that window, not with the last one.
        needs_sort_ |= thread.windows.size() > 1;
    }

    void note_name(const ThreadRecording& thread, const Record& record) {
        if (record.kind == RecordKind::thread_name) thread_name_ = names_(record.name);
        // A lane serves one task after the other, and those of an earlier session are none of ours.
        Clipped clipped;
        if (record.kind != RecordKind::lane_name ||
            !clip(record.start, record.start, 0, thread.windows, clipped))
            return;
        LaneRows& lane = lane_rows(record.lane);
        const uint32_t name = names_(record.name);
        if (lane.name != 0 && lane.name != name) lane.has_several_names = true;
        if (lane.name == 0) lane.name = name;
    }

    // The scope ended between the moment of the stop (or of a pause) and the reading of the buffers: it is in
    // both.
    static void forget_open(ThreadRecording& thread, const Record& record) {
        std::erase_if(thread.open, [&](const OpenScopeCopy& scope) {
            return scope.is(record.start, record.name, record.lane);
        });
    }

    void place_lanes(const ThreadRecording& thread) {
        int32_t parent = -1;
        size_t row = trace_.size();
        for (size_t number = 0; number < lanes_.size(); ++number) {
            LaneRows& lane = lanes_[number];
            if (lane.order.size() == 0 && !(number == 0 && lanes_.size() > 1)) continue;
            lane.track = uint32_t(trace_.tracks.size());
            lane.first_row = row;
            row += lane.order.size();
            needs_sort_ |= lane.order.crosses();
            trace_.tracks.push_back(host_track(thread, lane, number));
            trace_.tracks.back().parent = parent;
            if (number == 0) parent = int32_t(lane.track);
            if (number == 0) thread_tracks_[thread.tid] = lane.track;
        }
        resize_columns(row);
    }

    // Lanes have no tid of their own, and the kernel gives the tid of a thread that ended to another.
    Track host_track(const ThreadRecording& thread, const LaneRows& lane, size_t number) {
        Track track;
        track.tid =
            std::to_string(number == 0 && tids_.insert(thread.tid).second ? thread.tid : next_made_up_tid_++);
        track.sort_index = std::to_string(thread.tid);
        track.name = "thread " + std::to_string(thread.tid);
        if (thread_name_) track.name += " (" + std::string(trace_.strings[thread_name_]) + ")";
        if (number != 0) track.name += " lane " + std::to_string(number);
        if (lane.name) track.name += ": " + std::string(trace_.strings[lane.name]);
        if (lane.has_several_names) track.name += " and others";
        return track;
    }

    // Spans of a thread that others looked at: beside what it recorded itself, on the same track.
    void add_sampled_thread(int32_t tid, const std::vector<SampledSpan>& spans) {
        const auto itself = std::find_if(recording_.threads.rbegin(), recording_.threads.rend(),
                                         [&](const ThreadRecording& thread) { return thread.tid == tid; });
        const bool is_member = itself != recording_.threads.rend();
        if (!is_member && !recording_.all_threads) return;
        const std::vector<Window> windows =
            is_member ? itself->windows : std::vector<Window>{recording_.window};
        for (const SampledSpan& span : spans) {
            Clipped clipped;
            if (clip(span.start, span.end, span.is_open ? record::flag_unfinished : 0, windows, clipped))
                write_sampled_span(sampled_track(tid, is_member ? itself->name : ""), clipped, span.name);
        }
    }

    uint32_t sampled_track(int32_t tid, const std::string& name) {
        const auto [known, is_new] = thread_tracks_.try_emplace(tid, uint32_t(trace_.tracks.size()));
        if (!is_new) return known->second;
        const uint32_t other_name = samples_.name_of(tid);
        thread_name_ = !name.empty() ? trace_.strings.intern(name) : other_name ? names_(other_name) : 0;
        ThreadRecording thread;
        thread.tid = tid;
        trace_.tracks.push_back(host_track(thread, LaneRows(trace_.storage), 0));
        return known->second;
    }

    void write_sampled_span(uint32_t track, const Clipped& clipped, uint32_t name) {
        const size_t row = trace_.size();
        resize_columns(row + 1);
        trace_.category[row] = uint8_t(Category::python_function);
        write_call(row, track, clipped, name, 0);
        needs_sort_ = true;
    }

    void resize_columns(size_t rows) {
        for (auto* column : {&trace_.start_ns, &trace_.duration_ns}) column->resize(rows);
        for (auto* column : {&trace_.name, &trace_.track}) column->resize(rows);
        for (auto* column : {&trace_.category, &trace_.kind, &trace_.scope, &trace_.flags})
            column->resize(rows);
        if (!trace_.args.empty()) trace_.args.resize(rows);
        if (!trace_.correlation.empty()) trace_.correlation.resize(rows);
    }

    size_t next_row(LaneRows& lane) {
        const size_t ended = lane.next++;
        const size_t row = lane.first_row + lane.order.place(ended);
        if (lane.next % rows_between_drops == 0) drop_behind(lane, ended, row);
        return row;
    }

    // Columns in a file are filled almost in order; what lies behind need not stay in memory.
    void drop_behind(const LaneRows& lane, size_t ended, size_t row) const {
        lane.order.drop_places(ended - rows_between_drops + 1, ended);
        const size_t begin = row > 2 * rows_between_drops ? row - 2 * rows_between_drops : 0;
        for (auto* column : {&trace_.start_ns, &trace_.duration_ns}) column->drop_pages(begin, row);
        for (auto* column : {&trace_.name, &trace_.track}) column->drop_pages(begin, row);
        for (auto* column : {&trace_.category, &trace_.kind, &trace_.scope, &trace_.flags})
            column->drop_pages(begin, row);
        if (!trace_.args.empty()) trace_.args.drop_pages(begin, row);
    }

    void write_row(size_t row, uint32_t track, const Clipped& clipped, uint32_t name) {
        const int64_t start_ns = wall(clipped.start);
        trace_.start_ns[row] = start_ns;
        trace_.duration_ns[row] = wall(clipped.end) - start_ns;
        trace_.name[row] = name;
        trace_.track[row] = track;
        trace_.flags[row] = clipped.flags & event_flags;
    }

    void write_host_event(const Record& record, const Clipped& clipped) {
        LaneRows& lane = lanes_[record.lane];
        const size_t row = next_row(lane);
        trace_.kind[row] = uint8_t(event_kind(record.kind));
        trace_.category[row] = record.category;
        trace_.scope[row] = record.scope;
        if (is_call(record.category))
            write_call(row, lane.track, clipped, record.name, options_.calls.lines ? record.correlation : 0);
        else
            write_row(row, lane.track, clipped, names_(record.name));
        if (record.kind == RecordKind::counter) write_counter_value(row, std::bit_cast<double>(record.end));
        if (record.payload != 0)
            write_payload(row, record.payload_bytes(), record.payload * sizeof(Record), left_out_of(record));
        if (record.flags & record::flag_stack)
            write_stack(row, record.correlation);
        else if (!is_call(record.category))
            write_correlation(row, record.correlation);
    }

    void write_open_scope(const ThreadRecording& thread, const OpenScopeCopy& scope) {
        Clipped clipped;
        if (!wants(thread, scope, clipped)) return;
        LaneRows& lane = lanes_[scope.lane];
        const size_t row = next_row(lane);
        trace_.kind[row] = uint8_t(EventKind::span);
        trace_.category[row] = uint8_t(scope.meta);
        trace_.scope[row] = uint8_t(scope.meta >> 8);
        if (is_call(uint8_t(scope.meta))) return write_call(row, lane.track, clipped, scope.name, 0);
        write_row(row, lane.track, clipped, names_(scope.name));
    }

    // Most scopes have no other arguments, and then all with the same stack share its text.
    void write_stack(size_t row, uint32_t stack) {
        if (!options_.wanted.stacks) return;
        const TextRange& shared = stack_args_(stack);
        if (shared.length == 0) return;
        if (trace_.args.empty()) trace_.args.resize(trace_.size());
        TextRange& args = trace_.args[row];
        if (args.length == 0) {
            args = shared;
            return;
        }
        const std::string own(trace_.args_text.data() + args.offset, args.length);
        const std::string stack_text(trace_.args_text.data() + shared.offset, shared.length);
        const std::string both = own + "," + stack_text;
        write_args(row, both.data(), both.size());
    }

    // The line is where the caller stood, 0 when nobody asked.
    void write_call(size_t row, uint32_t track, const Clipped& clipped, uint32_t recorded, uint32_t line) {
        const CallNames::Entry& call = call_names_(recorded);
        write_row(row, track, clipped, call.name);
        if (call.args.length == 0 && line == 0) return;
        if (trace_.args.empty()) trace_.args.resize(trace_.size());
        trace_.args[row] = call.args;
        if (line == 0) return;
        std::string text(trace_.args_text.data() + call.args.offset, call.args.length);
        text += (text.empty() ? "\"Call line\":" : ",\"Call line\":") + std::to_string(line);
        write_args(row, text.data(), text.size());
    }

    void write_correlation(size_t row, uint32_t correlation) {
        if (correlation == 0) return;
        if (trace_.correlation.empty()) trace_.correlation.resize(trace_.size());
        trace_.correlation[row] = correlation;
    }

    void write_args(size_t row, const char* text, size_t bytes) {
        if (bytes == 0) return;
        if (trace_.args.empty()) trace_.args.resize(trace_.size());
        trace_.args[row] = {trace_.args_text.size(), bytes};
        trace_.args_text.append(text, bytes);
    }

    std::span<const std::string_view> left_out_of(const Record& record) const {
        if (options_.wanted.input_shapes || !(record.flags & record::flag_input_shapes)) return {};
        return shape_members;
    }

    void write_payload(size_t row, const char* payload, size_t room,
                       std::span<const std::string_view> left_out) {
        uint32_t bytes = 0;
        std::memcpy(&bytes, payload, sizeof bytes);
        const std::string_view text(payload + sizeof bytes, std::min<size_t>(bytes, room - sizeof bytes));
        if (!options_.clean_members) return write_args(row, text.data(), text.size());
        if (text.size() == bytes && options_.clean_members(text, left_out, clean_))
            write_args(row, clean_.data(), clean_.size());
        else
            ++damaged_;
    }

    void write_counter_value(size_t row, double value) {
        char text[48];
        const bool is_whole = std::abs(value) < 1e15 && value == double(int64_t(value));
        const int bytes = !std::isfinite(value) ? std::snprintf(text, sizeof text, "\"value\":null")
                          : is_whole ? std::snprintf(text, sizeof text, "\"value\":%" PRId64, int64_t(value))
                                     : std::snprintf(text, sizeof text, "\"value\":%.17g", value);
        write_args(row, text, size_t(bytes));
    }

    // Device events come in any order and from any thread; they are few here and sorted at the end.
    void write_device_event(const Record& record) {
        const int64_t start_ns = int64_t(record.start), end_ns = int64_t(record.end);
        if (end_ns < trace_.window_start_ns || (start_ns > trace_.window_end_ns && !recording_.is_recovered))
            return;
        if (record.payload * sizeof(Record) < sizeof(record::DevicePlace) + sizeof(uint32_t)) return;
        if (!makes_sense(record.category, record.scope) || !wants_category(record.category)) return;
        record::DevicePlace place;
        std::memcpy(&place, record.payload_bytes(), sizeof place);
        const size_t row = trace_.size();
        resize_columns(row + 1);
        trace_.start_ns[row] = start_ns;
        trace_.duration_ns[row] = std::max<int64_t>(0, end_ns - start_ns);
        trace_.name[row] = names_(record.name);
        trace_.track[row] = device_track(place);
        trace_.category[row] = record.category;
        write_payload(row, record.payload_bytes() + sizeof place,
                      record.payload * sizeof(Record) - sizeof place, left_out_of(record));
        write_correlation(row, record.correlation);
        needs_sort_ = true;
    }

    uint32_t device_track(const record::DevicePlace& place) {
        auto key = std::make_tuple(place.device_type, place.device_index, place.resource);
        auto [known, is_new] = device_tracks_.try_emplace(key, uint32_t(trace_.tracks.size()));
        if (!is_new) return known->second;
        Track track;
        track.process = device_process(place);
        track.tid = std::to_string(place.resource);
        track.name = "stream " + track.tid + " ";
        track.sort_index = track.tid;
        track.device_type = place.device_type;
        track.device_index = place.device_index;
        trace_.tracks.push_back(std::move(track));
        return known->second;
    }

    uint32_t device_process(const record::DevicePlace& place) {
        auto key = std::make_pair(place.device_type, place.device_index);
        auto [known, is_new] = device_processes_.try_emplace(key, uint32_t(trace_.processes.size()));
        if (!is_new) return known->second;
        const std::string index = std::to_string(place.device_index);
        trace_.processes.push_back(
            {index, "python", "GPU " + index, std::to_string(device_sort_index + place.device_index)});
        return known->second;
    }

    // Silence is not idleness: both ends of a pause are instants on a track of their own.
    void add_pauses() {
        size_t count = 0;
        int64_t paused_ns = 0;
        for (const Window& pause : recording_.pauses) {
            const Window seen{std::max(pause.begin, recording_.window.begin),
                              std::min(pause.end, recording_.window.end)};
            if (seen.begin > seen.end) continue;  // a ring has passed it
            if (count++ == 0) trace_.tracks.push_back(pause_track());
            const int64_t length_ns = wall(seen.end) - wall(seen.begin);
            paused_ns += length_ns;
            write_pause_event("Recording paused", wall(seen.begin), length_ns);
            if (pause.end <= recording_.window.end)
                write_pause_event("Recording resumed", wall(seen.end), length_ns);
        }
        if (count == 0) return;
        char text[160];
        std::snprintf(text, sizeof text,
                      "recording was paused %zu time%s, %.3f ms in all: nothing of that is here", count,
                      count == 1 ? "" : "s", double(paused_ns) / 1e6);
        trace_.notes.push_back({"paused", text});
        needs_sort_ = true;
    }

    Track pause_track() {
        Track track;
        track.tid = std::to_string(next_made_up_tid_++);
        track.sort_index = track.tid;
        track.name = "recording";
        return track;
    }

    void write_pause_event(const char* name, int64_t at_ns, int64_t paused_ns) {
        const size_t row = trace_.size();
        resize_columns(row + 1);
        trace_.start_ns[row] = at_ns;
        trace_.name[row] = trace_.strings.intern(name);
        trace_.track[row] = uint32_t(trace_.tracks.size() - 1);
        trace_.category[row] = uint8_t(record::Category::cpu_instant_event);
        trace_.kind[row] = uint8_t(EventKind::instant);
        const std::string args = "\"paused_ns\":" + std::to_string(paused_ns);
        write_args(row, args.data(), args.size());
    }

    void add_notes() {
        for (const auto& [kind, text] : recording_.notes) trace_.notes.push_back({kind, text});
        if (!trace_.storage.directory.empty() && !trace_.start_ns.in_file() &&
            trace_.size() > rows_between_drops)
            trace_.notes.push_back(
                {"memory", "the disk was full, so the trace was built in memory, beyond the limit"});
        if (damaged_ != 0)
            trace_.notes.push_back(
                {"damaged", std::to_string(damaged_) +
                                " events had fields or arguments that make no sense; these were left out"});
        const base::ClockFit& clock = recording_.clock;
        trace_.notes.push_back({"clock", "times are within " + std::to_string(clock.error_ns()) +
                                             " ns of CLOCK_MONOTONIC_RAW; ticks from " +
                                             base::tick_source_name(recording_.tick_source)});
        if (clock.wall_stepped())
            trace_.notes.push_back(
                {"clock", "the wall clock was stepped by " + std::to_string(clock.wall_drift_ns()) +
                              " ns while recording; times keep the offset of the session's start"});
        if (options_.scope_cost_ns == 0) return;
        char text[160];
        std::snprintf(text, sizeof text, "recording cost about %.3f ms: %zu events at %.0f ns",
                      double(trace_.size()) * options_.scope_cost_ns / 1e6, trace_.size(),
                      options_.scope_cost_ns);
        trace_.notes.push_back({"cost", text});
    }

    Recording& recording_;
    const BuildOptions& options_;
    Trace trace_;
    NameMap names_;
    CallNames call_names_;
    StackArgs stack_args_;
    Samples samples_;
    mutable IdCache<bool> wanted_names_;
    uint64_t shortest_call_ = 0;  // ticks
    std::vector<LaneRows> lanes_;
    OwnCalls own_calls_;
    std::unordered_map<int32_t, uint32_t> thread_tracks_;
    uint32_t thread_name_ = 0;
    bool needs_sort_ = false;
    std::unordered_set<int64_t> tids_;
    int64_t next_made_up_tid_ = first_made_up_tid;
    size_t damaged_ = 0;
    std::string clean_;
    std::map<std::tuple<uint8_t, int32_t, int64_t>, uint32_t> device_tracks_;
    std::map<std::pair<uint8_t, int32_t>, uint32_t> device_processes_;
};

}  // namespace

Trace build_trace(Recording&& recording, const BuildOptions& options) {
    Recording taken = std::move(recording);
    return Builder(taken, options).build();
}

}  // namespace kinetograph::trace
