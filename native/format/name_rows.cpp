#include "format/name_rows.h"

#include "format/json_text.h"
#include "format/kineto_words.h"

namespace kinetograph::format {

namespace {

constexpr const char* between_rows = ",\n";

std::string member(std::string_view key, const std::string& value) {
    return ",\"" + std::string(key) + "\":" + value;
}

}  // namespace

std::string lane_name(const trace::Track& track, size_t lane) {
    return track.name + " lane " + std::to_string(lane);
}

std::string NameRows::row(std::string_view what, const std::string& place, const std::string& members) const {
    return "{\"name\":\"" + std::string(what) + "\",\"ph\":\"M\",\"ts\":" + ts_ + place + ",\"args\":{" +
           members + "}}";
}

std::string NameRows::of_process(const trace::Process& process) const {
    const std::string place = ",\"pid\":" + process.pid + ",\"tid\":0";
    const bool has_name = !process.name.empty();
    std::string rows =
        row(has_name ? "process_name" : unnamed_process, place, "\"name\":" + quoted(process.name));
    if (!process.labels.empty()) {
        rows += between_rows;
        rows += row("process_labels", place, "\"labels\":" + quoted(process.labels));
    }
    if (!process.sort_index.empty()) {
        rows += between_rows;
        rows += row("process_sort_index", place, "\"sort_index\":" + process.sort_index);
    }
    return rows;
}

std::string NameRows::of_track(const trace::Track& track, size_t lane, const std::string& tid) const {
    const std::string place = ",\"pid\":" + trace_.processes[track.process].pid + ",\"tid\":" + tid;
    const bool has_name = lane > 0 || !track.name.empty();
    std::string rows = row(has_name ? "thread_name" : unnamed_thread, place, track_members(track, lane));
    if (!track.sort_index.empty()) {
        rows += between_rows;
        rows += row("thread_sort_index", place, "\"sort_index\":" + track.sort_index);
    }
    return rows;
}

std::string NameRows::track_members(const trace::Track& track, size_t lane) const {
    if (lane > 0) {
        return "\"name\":" + quoted(lane_name(track, lane)) + member(track_argument::lane_of, track.tid);
    }
    std::string members = "\"name\":" + quoted(track.name);
    if (track.parent >= 0) members += member(track_argument::task_of, trace_.tracks[track.parent].tid);
    if (track.device_type != 0)
        members += member(track_argument::device_type, std::to_string(track.device_type));
    if (track.device_index != -1) {
        members += member(track_argument::device_index, std::to_string(track.device_index));
    }
    if (track.framework_thread != 0)
        members += member(track_argument::framework_thread, std::to_string(track.framework_thread));
    return members;
}

}  // namespace kinetograph::format
