// Events that devices reported: rows on the tracks of their streams, in processes of their own.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "record/recording.h"
#include "trace/event_filter.h"
#include "trace/row_writer.h"

namespace kinetograph::trace {

class DeviceRows {
public:
    DeviceRows(const record::Recording& recording, const EventFilter& filter, RowWriter& rows)
        : recording_(recording), filter_(filter), rows_(rows) {}

    // Device events come in any order and from any thread; whoever calls sorts at the end. False when the
    // session does not want this one.
    bool write(const record::Record& record);

private:
    bool wants(const record::Record& record) const;
    uint32_t track(const record::DevicePlace& place);
    uint32_t process(const record::DevicePlace& place);

    const record::Recording& recording_;
    const EventFilter& filter_;
    RowWriter& rows_;
    std::map<std::tuple<uint8_t, int32_t, int64_t>, uint32_t> tracks_;
    std::map<std::pair<uint8_t, int32_t>, uint32_t> processes_;
};

}  // namespace kinetograph::trace
