// What a thread tells that decodes the records of a device's library: device work, calls of other threads
// into that library, metadata and notes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/recording.h"
#include "trace/device_memory.h"
#include "trace/device_rows.h"
#include "trace/event_filter.h"
#include "trace/graph_launches.h"
#include "trace/row_writer.h"
#include "trace/timed_scopes.h"

namespace kinetograph::trace {

inline bool is_told(record::RecordKind kind) {
    return kind >= record::RecordKind::device_work && kind <= record::RecordKind::device_counter;
}

class ToldRows {
public:
    // `track_of` gives the track of what a thread ran at a time, and makes one for a thread that recorded
    // nothing itself.
    ToldRows(const record::Recording& recording, const BuildOptions& options, const EventFilter& filter,
             RowWriter& rows, DeviceRows& device_rows,
             std::function<uint32_t(int32_t tid, uint64_t tick)> track_of)
        : recording_(recording),
          options_(options),
          filter_(filter),
          rows_(rows),
          device_rows_(device_rows),
          track_of_(std::move(track_of)),
          memory_(rows),
          graphs_(rows, device_rows) {}

    // In any order; whoever calls sorts at the end.
    void write(const record::ThreadRecording& teller, const record::Record& record);
    bool has_device_work() const { return has_device_work_; }
    // After the last record, and before rows are sorted.
    void write_gathered();
    // Until their rows are tied to these, they carry their numbers in here as correlation: -1, -2...
    const std::vector<TimedScope>& timed_scopes() const { return timed_scopes_; }
    // After the last record: metadata and notes go into the trace.
    void finish();

private:
    void write_work(const record::ThreadRecording& teller, const record::Record& record);
    void write_call(const record::ThreadRecording& teller, const record::Record& record);
    void write_counter(const record::ThreadRecording& teller, const record::Record& record);
    void see_memory(const record::ThreadRecording& teller, const record::Record& record);
    void number_timed_scope(size_t row, const record::Record& record, const record::DeviceWork& work);
    bool wants_told(const record::Record& record) const;
    void write_work_args(size_t row, const record::Record& record, const record::DeviceWork& work);
    bool is_of_this_session(const record::Record& note) const;
    bool wants(const record::ThreadRecording& teller, const record::Record& record, size_t struct_bytes,
               Clipped& clipped) const;
    std::string_view text_of(const record::Record& record) const;

    const record::Recording& recording_;
    const BuildOptions& options_;
    const EventFilter& filter_;
    RowWriter& rows_;
    DeviceRows& device_rows_;
    const std::function<uint32_t(int32_t, uint64_t)> track_of_;
    DeviceMemoryRows memory_;
    GraphLaunches graphs_;
    bool has_device_work_ = false;
    std::vector<TimedScope> timed_scopes_;
    std::map<std::string, std::string> metadata_;
    std::map<std::pair<std::string, std::string>, uint64_t> notes_;  // how often, or 0
};

}  // namespace kinetograph::trace
