#include "trace/builder.h"

#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/temporary_file.h"
#include "trace/build_notes.h"
#include "trace/collectives.h"
#include "trace/device_links.h"
#include "trace/device_rows.h"
#include "trace/event_filter.h"
#include "trace/lane_rows.h"
#include "trace/object_numbers.h"
#include "trace/pause_rows.h"
#include "trace/ranges.h"
#include "trace/row_writer.h"
#include "trace/running_lanes.h"
#include "trace/samples.h"
#include "trace/told_rows.h"

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

class Builder {
public:
    Builder(Recording& recording, const BuildOptions& options)
        : recording_(recording),
          options_(options),
          trace_(storage_for(recording)),
          filter_(options, recording.clock),
          rows_(recording, options, trace_),
          device_rows_(recording, filter_, rows_),
          told_(recording, options, filter_, rows_, device_rows_,
                [this](int32_t tid, uint64_t tick) { return track_of_other(tid, tick); }),
          ranges_(recording.started_at, filter_, rows_,
                  [this](int32_t tid, uint64_t tick) { return track_of_other(tid, tick); }),
          samples_(recording.window,
                   {options.wanted.samples, filter_.wants_category(uint8_t(Category::python_function))},
                   [this](uint32_t name) { return wants_on_stack(name); }) {}

    Trace build() {
        trace_.window_start_ns = rows_.wall(recording_.window.begin);
        trace_.window_end_ns = rows_.wall(recording_.window.end);
        const std::string pid = std::to_string(recording_.pid);
        const std::string& name = recording_.process_name;
        trace_.processes.push_back({pid, name.empty() ? "python" : name, "CPU", pid});
        for (ThreadRecording& thread : recording_.threads) add_thread(thread);
        for (const auto& [tid, spans] : samples_.take_spans()) add_sampled_thread(tid, spans);
        for (const ThreadRecording* teller : tellers_) add_told(*teller);
        needs_sort_ |= !ranges_.empty();
        ranges_.write();
        told_.write_gathered();
        needs_sort_ |= write_pauses(recording_, next_made_up_tid_, rows_);
        if (needs_sort_) sort_events(trace_);
        number_objects(trace_, rows_.names_of_objects());
        if (told_.has_device_work()) tie_device_work();
        told_.finish();
        const double cost_ns =
            options_.scope_cost_ns != 0 ? options_.scope_cost_ns : recording_.scope_cost_ns;
        add_notes(recording_, {damaged_ + rows_.damaged(), brief_, doubtful_}, cost_ns, trace_);
        return std::move(trace_);
    }

private:
    static Storage storage_for(const Recording& recording) {
        size_t records = 0;
        for (const ThreadRecording& thread : recording.threads)
            for (const RecordRange& range : thread.ranges) records += size_t(range.end - range.begin);
        const size_t bytes = records * (column_bytes_per_event + sizeof(Record));
        if (bytes <= recording.memory_limit_bytes / 2) return {};
        return {recording.spill_directory.empty() ? base::temporary_directory() : recording.spill_directory};
    }

    bool wants_on_stack(uint32_t name) const {
        return filter_.wants_call(
            name, record::is_name_of_object(recording_.names(name)) ? record::flag_object : 0);
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
        if (lanes_.size() > 1 && options_.wanted.device_work) see_running_lanes(thread);
        for_each_record(thread, [&](const Record& record) {
            Clipped clipped;
            if (filter_.wants(thread, record, clipped)) write_host_event(record, clipped);
            if (is_half_of_a_range(record.kind)) ranges_.see(thread, record);
            if (record.kind == RecordKind::device_span) needs_sort_ |= device_rows_.write(thread, record);
            if (is_told(record.kind) && wants_told_by(thread) &&
                (tellers_.empty() || tellers_.back() != &thread))
                tellers_.push_back(&thread);
        });
        for (size_t i = thread.open.size(); i-- > 0;) write_open_scope(thread, thread.open[i]);
        lanes_.clear();
    }

    // Other threads have only notes to tell, of what they annotated.
    bool wants_told_by(const ThreadRecording& thread) const {
        return !thread.serves_all || options_.wanted.device_work || options_.wanted.timed_scopes;
    }

    void order_events(ThreadRecording& thread) {
        // Scopes and calls of a lane come from two stacks; together they are to be outermost first.
        std::stable_sort(thread.open.begin(), thread.open.end(),
                         [](const OpenScopeCopy& a, const OpenScopeCopy& b) { return a.start < b.start; });
        const record::ScopeSet open(thread.open);
        record::ScopeSet ended;
        for_each_record(thread, [&](const Record& record) {
            note_name(thread, record);
            samples_.see(record);
            if (!makes_sense(record.category, record.scope)) ++damaged_;
            brief_ += filter_.is_too_brief(thread, record);
            Clipped clipped;
            if (!filter_.wants(thread, record, clipped)) return;
            see(record.lane, record.category, record.name, clipped);
            // It ended between the moment of the stop (or of a pause) and the reading of the buffers: it is
            // in both.
            if (!open.empty() && open.contains(record)) ended.insert(record);
        });
        forget(thread.open, ended);
        for (size_t i = thread.open.size(); i-- > 0;) {
            const OpenScopeCopy& scope = thread.open[i];
            Clipped clipped;
            if (filter_.wants(thread, scope, clipped))
                see(scope.lane, uint8_t(scope.meta), scope.name, clipped);
        }
        if (!own_calls_.empty()) samples_.has_own_calls(thread.tid, std::exchange(own_calls_, {}));
        for (LaneRows& lane : lanes_) lane.order.finish();
        // Scopes that were open when the thread left end with that window, not with the last one.
        needs_sort_ |= thread.windows.size() > 1;
    }

    void see(uint16_t lane, uint8_t category, uint32_t name, const Clipped& clipped) {
        lane_rows(lane).order.add(int64_t(clipped.start), int64_t(clipped.end));
        if (is_call(category)) own_calls_.see(clipped.start, clipped.end, name, recording_.window.begin);
    }

    void note_name(const ThreadRecording& thread, const Record& record) {
        // Files have the name nowhere else, and the last one counts.
        if (record.kind == RecordKind::thread_name && thread.name.empty())
            thread_name_ = rows_.name(record.name);
        // A lane serves one task after the other, and those of an earlier session are none of ours.
        Clipped clipped;
        if (record.kind == RecordKind::lane_name &&
            clip(record.start, record.start, 0, thread.windows, clipped))
            lane_rows(record.lane).see_name(rows_.name(record.name));
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
        rows_.resize(row);
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

    void write_host_event(const Record& record, const Clipped& clipped) {
        LaneRows& lane = lanes_[record.lane];
        const size_t row = lane.next_row(rows_);
        rows_.write_host_event(row, lane.track, record, clipped);
        lane.last_row = std::max(lane.last_row, row);
        if (record.kind == RecordKind::span) keep_inside(row, lane.last_row);
    }

    // Records come as their events ended, so what came before this one's began within it. Where the clock has
    // one time for that and for the end, readers would take it for later.
    void keep_inside(size_t span, size_t last) {
        const int64_t end = trace_.end_ns(span);
        if (trace_.start_ns[span] == end) return;
        for (size_t row = last; row > span && is_moment(row, end); --row) {
            --trace_.start_ns[row];
            trace_.duration_ns[row] += trace_.is_span(row);
        }
    }

    bool is_moment(size_t row, int64_t ns) const {
        return trace_.start_ns[row] == ns && trace_.duration_ns[row] == 0;
    }

    void write_open_scope(const ThreadRecording& thread, const OpenScopeCopy& scope) {
        Clipped clipped;
        if (!filter_.wants(thread, scope, clipped)) return;
        LaneRows& lane = lanes_[scope.lane];
        rows_.write_open_scope(lane.next_row(rows_), lane.track, scope, clipped);
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
        thread_name_ = name_of_other(tid, name);
        ThreadRecording thread;
        thread.tid = tid;
        trace_.tracks.push_back(host_track(thread, LaneRows(trace_.storage), 0));
        return known->second;
    }

    uint32_t name_of_other(int32_t tid, const std::string& own) {
        if (!own.empty()) return trace_.strings.intern(own);
        const auto given = recording_.names_of_silent_threads.find(tid);
        if (given != recording_.names_of_silent_threads.end()) return trace_.strings.intern(given->second);
        const uint32_t other_name = samples_.name_of(tid);
        return other_name ? rows_.name(other_name) : 0;
    }

    void write_sampled_span(uint32_t track, const Clipped& clipped, uint32_t name) {
        const size_t row = rows_.add_row();
        trace_.category[row] = uint8_t(Category::python_function);
        rows_.write_call(row, track, clipped, name, 0);
        needs_sort_ = true;
    }

    // Once all threads have their tracks, for it tells of any of them.
    void add_told(const ThreadRecording& teller) {
        for_each_record(teller, [&](const Record& record) {
            if (is_told(record.kind)) told_.write(teller, record);
        });
        needs_sort_ = true;
    }

    // For calls that are told of the thread and not of its lanes.
    void see_running_lanes(const ThreadRecording& thread) {
        for_each_record(thread, [&](const Record& record) {
            Clipped clipped;
            if (is_call(record.category) || (record.flags & record::flag_async) != 0 ||
                !filter_.wants(thread, record, clipped))
                return;
            if (record.kind == RecordKind::span)
                running_lanes_.see_scope(record.lane, clipped);
            else
                running_lanes_.see_instant(record.lane, clipped.start);
        });
        for (const OpenScopeCopy& scope : thread.open) {
            Clipped clipped;
            if (!is_call(uint8_t(scope.meta)) && filter_.wants(thread, scope, clipped))
                running_lanes_.see_scope(scope.lane, clipped);
        }
        running_lanes_.finish(thread.tid, [this](uint16_t lane) { return lanes_[lane].track; });
    }

    uint32_t track_of_other(int32_t tid, uint64_t tick) {
        doubtful_ += running_lanes_.is_doubtful(tid, tick);
        if (const std::optional<uint32_t> running = running_lanes_.track(tid, tick)) return *running;
        const auto itself = std::find_if(recording_.threads.rbegin(), recording_.threads.rend(),
                                         [&](const ThreadRecording& thread) { return thread.tid == tid; });
        return sampled_track(tid, itself == recording_.threads.rend() ? "" : itself->name);
    }

    void tie_device_work() {
        link_timed_scopes(trace_, told_.timed_scopes(), [this](int32_t tid) {
            const auto track = thread_tracks_.find(tid);
            return track == thread_tracks_.end() ? -1 : int32_t(track->second);
        });
        link_device_work(trace_);
        describe_collectives(trace_);
        if (filter_.wants_category(uint8_t(Category::gpu_user_annotation))) add_gpu_annotations(trace_);
    }

    Recording& recording_;
    const BuildOptions& options_;
    Trace trace_;
    EventFilter filter_;
    RowWriter rows_;
    DeviceRows device_rows_;
    ToldRows told_;
    Ranges ranges_;
    std::vector<const ThreadRecording*> tellers_;
    Samples samples_;
    std::vector<LaneRows> lanes_;
    OwnCalls own_calls_;
    RunningLanes running_lanes_;
    std::unordered_map<int32_t, uint32_t> thread_tracks_;
    uint32_t thread_name_ = 0;
    bool needs_sort_ = false;
    size_t doubtful_ = 0;
    std::unordered_set<int64_t> tids_;
    int64_t next_made_up_tid_ = first_made_up_tid;
    size_t damaged_ = 0, brief_ = 0;
};

}  // namespace

Trace build_trace(Recording&& recording, const BuildOptions& options) {
    Recording taken = std::move(recording);
    return Builder(taken, options).build();
}

}  // namespace kinetograph::trace
