#include "trace/device_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace kinetograph::trace {

namespace {

constexpr int64_t device_sort_index = 5'000'000;

}  // namespace

bool DeviceRows::wants(const record::Record& record) const {
    const Trace& trace = rows_.trace();
    if (int64_t(record.end) < trace.window_start_ns) return false;
    if (int64_t(record.start) > trace.window_end_ns && !recording_.is_recovered) return false;
    if (record.payload * sizeof record < sizeof(record::DevicePlace) + sizeof(uint32_t)) return false;
    return makes_sense(record.category, record.scope) && filter_.wants_category(record.category);
}

bool DeviceRows::write(const record::Record& record) {
    if (!wants(record)) return false;
    record::DevicePlace place;
    std::memcpy(&place, record.payload_bytes(), sizeof place);
    const int64_t start_ns = int64_t(record.start), end_ns = int64_t(record.end);
    const size_t row = rows_.add_row();
    Trace& trace = rows_.trace();
    trace.start_ns[row] = start_ns;
    trace.duration_ns[row] = std::max<int64_t>(0, end_ns - start_ns);
    trace.name[row] = rows_.name(record.name);
    trace.track[row] = track(place);
    trace.category[row] = record.category;
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
    track.name = "stream " + track.tid + " ";
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
    trace.processes.push_back(
        {index, "python", "GPU " + index, std::to_string(device_sort_index + place.device_index)});
    return known->second;
}

}  // namespace kinetograph::trace
