#include "trace/device_memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "trace/launches.h"

namespace kinetograph::trace {

namespace {

using record::DeviceMemory;
using record::MemoryOperation;

// The keys, and their order, are Kineto's.
std::string members_of(const DeviceMemory& memory, int64_t bytes, const DeviceHoldings& holdings) {
    std::string text = "\"Addr\":" + std::to_string(memory.address);
    text += ",\"Bytes\":" + std::to_string(bytes);
    text += ",\"Total Allocated\":" + std::to_string(holdings.allocated());
    text += ",\"Total Reserved\":" + std::to_string(holdings.reserved());
    text += ",\"Device Type\":" + std::to_string(memory.place.device_type);
    return text + ",\"Device Id\":" + std::to_string(memory.place.device_index);
}

}  // namespace

void DeviceHoldings::set_pool(uint64_t pool, int64_t bytes) {
    int64_t& known = pools_[pool];
    in_pools_ += bytes - known;
    known = bytes;
}

void DeviceHoldings::add(const Allocation& allocation, int64_t sign) {
    allocated_ += sign * allocation.bytes;
    if (!allocation.is_pooled) outside_pools_ += sign * allocation.bytes;
}

// What was taken before anybody looked counts for nothing when it is given back.
int64_t DeviceHoldings::change(const DeviceMemory& memory) {
    if (memory.pool != 0) set_pool(memory.pool, int64_t(memory.pool_bytes));
    if (memory.operation == MemoryOperation::allocation) {
        const Allocation allocation{int64_t(memory.bytes), memory.pool != 0};
        const auto [known, is_new] = live_.try_emplace(memory.address, allocation);
        // Given back while nobody looked, or nobody could have it again.
        if (!is_new) add(std::exchange(known->second, allocation), -1);
        add(allocation, 1);
        return allocation.bytes;
    }
    if (memory.operation != MemoryOperation::release) return 0;
    const auto known = live_.find(memory.address);
    if (known == live_.end()) return -int64_t(memory.bytes);
    const Allocation allocation = known->second;
    live_.erase(known);
    add(allocation, -1);
    return -allocation.bytes;
}

void DeviceMemoryRows::see(const record::Record& record) {
    Seen seen{record.start, record.correlation, {}};
    std::memcpy(&seen.memory, record.payload_bytes(), sizeof seen.memory);
    seen_.push_back(seen);
}

void DeviceMemoryRows::write(const std::function<uint32_t()>& other_track) {
    if (seen_.empty()) return;
    std::stable_sort(seen_.begin(), seen_.end(),
                     [](const Seen& a, const Seen& b) { return a.tick < b.tick; });
    const Launches calls(rows_.trace());
    std::map<int32_t, DeviceHoldings> devices;
    for (const Seen& seen : seen_) {
        DeviceHoldings& holdings = devices[seen.memory.place.device_index];
        const int64_t bytes = holdings.change(seen.memory);
        if (seen.memory.operation != MemoryOperation::pool)
            write_row(seen, bytes, holdings, calls.find(seen.correlation), other_track);
    }
}

void DeviceMemoryRows::write_row(const Seen& seen, int64_t bytes, const DeviceHoldings& holdings,
                                 int32_t call, const std::function<uint32_t()>& other_track) {
    Trace& trace = rows_.trace();
    const uint32_t track = call < 0 ? other_track() : trace.track[call];
    const size_t row = rows_.add_row();
    rows_.write_row(row, track, {seen.tick, seen.tick, 0}, trace.strings.intern("[memory]"));
    trace.kind[row] = uint8_t(EventKind::memory);
    trace.category[row] = uint8_t(Category::cpu_instant_event);
    rows_.write_args(row, members_of(seen.memory, bytes, holdings));
    // CUPTI reads the clock for both, at moments of its own. Within the call it counts for those around it.
    if (call >= 0)
        trace.start_ns[row] = std::clamp(trace.start_ns[row], trace.start_ns[call],
                                         std::max(trace.start_ns[call], trace.end_ns(call) - 1));
}

}  // namespace kinetograph::trace
