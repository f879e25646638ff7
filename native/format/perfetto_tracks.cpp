#include "format/perfetto_tracks.h"

#include <optional>

#include "format/json_number.h"
#include "format/name_rows.h"

namespace kinetograph::format::perfetto {

namespace {

// Perfetto's ids of processes and threads are 31 bits. What has another id becomes a track with a name.
std::optional<uint64_t> system_id(const std::string& json) {
    const std::optional<int64_t> id = to_int64(json);
    if (!id || *id < 0 || *id > INT32_MAX) return std::nullopt;
    return static_cast<uint64_t>(*id);
}

std::string shown_name(const std::string& name, const std::string& id) {
    return name.empty() ? id : name;
}

}  // namespace

Tracks::Tracks(const trace::Trace& trace, Packets& packets)
    : trace_(trace), packets_(packets), next_(about() + 1) {}

void Tracks::describe_all() {
    describe_child(about(), 0, about::track, 0);
    for (uint32_t process = 0; process < trace_.processes.size(); ++process) describe_process(process);
    for (uint32_t track = 0; track < trace_.tracks.size(); ++track) describe_track(track);
}

void Tracks::describe_process(uint32_t index) {
    const trace::Process& process = trace_.processes[index];
    const std::optional<uint64_t> pid = system_id(process.pid);
    if (!pid) {
        // A track of its own has no labels.
        const std::string labels = process.labels.empty() ? "" : " (" + process.labels + ")";
        const std::string name = shown_name(process.name, process.pid) + labels;
        return describe_child(of_process(index), 0, name, index + 1);
    }
    ProtoBuffer& out = packets_.message();
    packets_.descriptor([&] {
        out.number(track::uuid, of_process(index));
        out.number(track::child_ordering, track::explicit_order);
        out.message(track::process, [&] {
            out.number(process::pid, *pid);
            if (!process.name.empty()) out.text(process::name, valid_utf8(process.name, scratch_));
            if (!process.labels.empty()) out.text(process::labels, valid_utf8(process.labels, scratch_));
        });
    });
}

void Tracks::describe_track(uint32_t index) {
    const trace::Track& track = trace_.tracks[index];
    const std::optional<uint64_t> pid = system_id(trace_.processes[track.process].pid),
                                  tid = system_id(track.tid);
    const bool is_task = track.parent >= 0;
    // Perfetto keeps 0 for the idle thread.
    const bool is_thread = pid.value_or(0) != 0 && tid.value_or(0) != 0 && track.device_type == 0;
    if (is_thread && !is_task) return describe_thread(index, *pid, *tid);
    const uint64_t parent =
        is_task ? of_track(static_cast<uint32_t>(track.parent)) : of_process(track.process);
    describe_child(of_track(index), parent, shown_name(track.name, track.tid), index);
}

void Tracks::describe_thread(uint32_t index, uint64_t pid, uint64_t tid) {
    const std::string& name = trace_.tracks[index].name;
    ProtoBuffer& out = packets_.message();
    packets_.descriptor([&] {
        out.number(track::uuid, of_track(index));
        out.number(track::parent, of_process(trace_.tracks[index].process));
        out.number(track::child_ordering, track::explicit_order);
        out.message(track::thread, [&] {
            out.number(thread::pid, pid);
            out.number(thread::tid, tid);
            if (!name.empty()) out.text(thread::name, valid_utf8(name, scratch_));
        });
    });
}

// Siblings of one name would be drawn as one.
void Tracks::describe_child(uint64_t uuid, uint64_t parent, std::string_view name, uint64_t rank) {
    ProtoBuffer& out = packets_.message();
    packets_.descriptor([&] {
        out.number(track::uuid, uuid);
        if (parent != 0) out.number(track::parent, parent);
        out.text(track::name, valid_utf8(name, scratch_));
        out.number(track::child_ordering, track::explicit_order);
        out.number(track::rank, rank);
        out.number(track::merge_behavior, track::merge_none);
    });
}

uint64_t Tracks::of_lane(uint32_t index, size_t lane) {
    if (lanes_of_ != index) lanes_.clear();
    lanes_of_ = index;
    while (lanes_.size() < lane) {
        lanes_.push_back(next_++);
        const std::string name = lane_name(trace_.tracks[index], lanes_.size());
        describe_child(lanes_.back(), of_track(index), name, lanes_.size());
    }
    return lanes_[lane - 1];
}

uint64_t Tracks::of_counter(uint32_t process, std::string_view name) {
    std::string key = std::to_string(process) + '/';
    key += name;
    const auto [found, is_new] = counters_.try_emplace(std::move(key), next_);
    if (!is_new) return found->second;
    ProtoBuffer& out = packets_.message();
    packets_.descriptor([&] {
        out.number(track::uuid, next_);
        out.number(track::parent, of_process(process));
        out.text(track::name, valid_utf8(name, scratch_));
        out.text(track::counter, "");
    });
    return next_++;
}

}  // namespace kinetograph::format::perfetto
