#include "trace/device_rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace kinetograph::trace {

namespace {

constexpr int64_t device_sort_index = 5'000'000;
// Above every process of Linux, apart from what other parts make up, below 2^31.
constexpr int64_t first_made_up_pid = 1'100'000'000;

// Whoever times a device reads the wall clock, which is slewed while a session keeps the offset it began
// with: what seems to pass the edge of a window by that much may not have.
int64_t doubt_of(const base::ClockFit& clock) {
    return clock.error_ns() + (clock.wall_stepped() ? 0 : std::abs(clock.wall_drift_ns()));
}

// Its number, as with Kineto, unless a process has that: in a container programs have small ones, and their
// threads would share rows with streams.
std::string free_pid(const Trace& trace, int32_t device_index) {
    const auto is_free = [&](const std::string& pid) {
        return std::none_of(trace.processes.begin(), trace.processes.end(),
                            [&](const Process& process) { return process.pid == pid; });
    };
    std::string pid = std::to_string(device_index);
    for (int64_t next = first_made_up_pid; !is_free(pid); ++next) pid = std::to_string(next);
    return pid;
}

// Waiting for a stream stands beside it, as with Kineto.
std::string name_of(const record::DevicePlace& place) {
    if (place.resource == record::counters_resource) return "counters";
    if (place.resource < record::first_sync_resource) return "stream " + std::to_string(place.resource) + " ";
    return "stream " + std::to_string(place.resource - record::first_sync_resource) + " (sync)";
}

}  // namespace

bool DeviceRows::wants(const record::Record& record) const {
    return int64_t(record.start) <= base::latest_ns && record.end <= uint64_t(base::latest_ns) &&
           record.payload * sizeof record >= sizeof(record::DevicePlace) + sizeof(uint32_t) &&
           makes_sense(record.category, record.scope) && filter_.wants_category(record.category);
}

const std::vector<record::Window>& DeviceRows::windows_ns(const record::ThreadRecording& thread) {
    if (std::exchange(thread_, &thread) == &thread) return windows_ns_;
    const auto doubt_ns = uint64_t(doubt_of(recording_.clock));
    windows_ns_.clear();
    for (const record::Window& window : thread.windows) {
        const auto begin = uint64_t(rows_.wall(window.begin)), end = uint64_t(rows_.wall(window.end));
        windows_ns_.push_back({begin - std::min(begin, doubt_ns), end + doubt_ns});
    }
    // Nobody knows when a process that was killed ended: its devices may have been ahead of its last record.
    if (recording_.is_recovered && !windows_ns_.empty() && thread.windows.back().end == recording_.window.end)
        windows_ns_.back().end = UINT64_MAX;
    return windows_ns_;
}

bool DeviceRows::write(const record::ThreadRecording& thread, const record::Record& record) {
    Clipped clipped;
    const auto start_ns = uint64_t(std::max<int64_t>(0, int64_t(record.start)));
    if (!wants(record) || !clip(start_ns, std::max(start_ns, record.end), 0, windows_ns(thread), clipped))
        return false;
    record::DevicePlace place;
    std::memcpy(&place, record.payload_bytes(), sizeof place);
    const size_t row = rows_.add_row();
    Trace& trace = rows_.trace();
    trace.start_ns[row] = int64_t(clipped.start);
    trace.duration_ns[row] = int64_t(clipped.end - clipped.start);
    trace.name[row] = rows_.name(record.name);
    trace.track[row] = track(place);
    trace.category[row] = record.category;
    trace.flags[row] = clipped.flags & event_flags;
    rows_.write_payload(row, record, sizeof place);
    rows_.write_correlation(row, record.correlation);
    return true;
}

uint32_t DeviceRows::track(const record::DevicePlace& place) {
    Trace& trace = rows_.trace();
    auto key = std::make_tuple(place.device_type, place.device_index, place.resource);
    auto [known, is_new] = tracks_.try_emplace(key, uint32_t(trace.tracks.size()));
    if (!is_new) return known->second;
    Track track;
    track.process = process(place);
    track.tid = std::to_string(place.resource);
    track.name = name_of(place);
    track.sort_index = track.tid;
    track.device_type = place.device_type;
    track.device_index = place.device_index;
    trace.tracks.push_back(std::move(track));
    return known->second;
}

uint32_t DeviceRows::process(const record::DevicePlace& place) {
    Trace& trace = rows_.trace();
    auto key = std::make_pair(place.device_type, place.device_index);
    auto [known, is_new] = processes_.try_emplace(key, uint32_t(trace.processes.size()));
    if (!is_new) return known->second;
    const std::string index = std::to_string(place.device_index);
    trace.processes.push_back({free_pid(trace, place.device_index), "python", "GPU " + index,
                               std::to_string(device_sort_index + place.device_index)});
    return known->second;
}

}  // namespace kinetograph::trace
