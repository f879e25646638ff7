// Memory of devices, as a decoder tells of it: each allocation and release becomes an instant on the thread
// that asked for it, with how much its device holds by then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "record/event.h"
#include "trace/row_writer.h"

namespace kinetograph::trace {

// What one device holds of all that a session saw.
class DeviceHoldings {
public:
    // Its bytes: less than 0 for a release, 0 where only a pool changed.
    int64_t change(const record::DeviceMemory& memory);
    int64_t allocated() const { return allocated_; }
    // With what pools keep for later.
    int64_t reserved() const { return outside_pools_ + in_pools_; }

private:
    struct Allocation {
        int64_t bytes;
        bool is_pooled;
    };
    void set_pool(uint64_t pool, int64_t bytes);
    void add(const Allocation& allocation, int64_t sign);

    std::unordered_map<uint64_t, Allocation> live_;  // by address
    std::unordered_map<uint64_t, int64_t> pools_;    // how much each has reserved
    int64_t allocated_ = 0, outside_pools_ = 0, in_pools_ = 0;
};

class DeviceMemoryRows {
public:
    explicit DeviceMemoryRows(RowWriter& rows) : rows_(rows) {}

    // In any order.
    void see(const record::Record& record);
    // Once all calls have rows, for those tell which thread it was; else it is `other_track`.
    void write(const std::function<uint32_t()>& other_track);

private:
    struct Seen {
        uint64_t tick;
        uint32_t correlation;
        record::DeviceMemory memory;
    };
    void write_row(const Seen& seen, int64_t bytes, const DeviceHoldings& holdings, int32_t call,
                   const std::function<uint32_t()>& other_track);

    RowWriter& rows_;
    std::vector<Seen> seen_;
};

}  // namespace kinetograph::trace
