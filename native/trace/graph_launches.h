// Launches of CUDA graphs as one event each, made of what their nodes did.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/event.h"
#include "trace/device_rows.h"
#include "trace/row_writer.h"

namespace kinetograph::trace {

class GraphLaunches {
public:
    GraphLaunches(RowWriter& rows, DeviceRows& device_rows) : rows_(rows), device_rows_(device_rows) {}

    // A node; in any order.
    void see(const record::Record& record, const record::DeviceWork& work);
    void write();

private:
    struct Launch {
        uint64_t start, end;
        uint32_t correlation, nodes;
        record::DeviceWork first;  // of the node that began first
    };

    RowWriter& rows_;
    DeviceRows& device_rows_;
    std::vector<Launch> launches_;
    std::unordered_map<uint32_t, size_t> by_correlation_;
};

}  // namespace kinetograph::trace
