// Events that devices reported: rows on the tracks of their streams, in processes of their own.
//
// They are told at any time after they happened. What makes one belong to a session is its own time: it is
// cut to the windows of the thread that told it, as a scope of that thread would be.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "record/recording.h"
#include "trace/event_filter.h"
#include "trace/row_writer.h"

namespace kinetograph::trace {

class DeviceRows {
public:
    DeviceRows(const record::Recording& recording, const EventFilter& filter, RowWriter& rows)
        : recording_(recording), filter_(filter), rows_(rows) {}

    // Device events come in any order and from any thread; whoever calls sorts at the end. False when the
    // session does not want this one, which `thread` told.
    bool write(const record::ThreadRecording& thread, const record::Record& record);
    uint32_t track(const record::DevicePlace& place);

private:
    bool wants(const record::Record& record) const;
    const std::vector<record::Window>& windows_ns(const record::ThreadRecording& thread);
    uint32_t process(const record::DevicePlace& place);

    const record::Recording& recording_;
    const EventFilter& filter_;
    RowWriter& rows_;
    const record::ThreadRecording* thread_ = nullptr;  // that `windows_ns_` is of
    std::vector<record::Window> windows_ns_;           // wall time, where those of the thread are ticks
    std::map<std::tuple<uint8_t, int32_t, int64_t>, uint32_t> tracks_;
    std::map<std::pair<uint8_t, int32_t>, uint32_t> processes_;
};

}  // namespace kinetograph::trace
