#include "record/recorder.h"

namespace kinetograph::record {

// On a buffer of its own, so that nothing of it is ever seen.
double Recorder::scope_cost_ns() {
    static const double cost = [] {
        constexpr int scopes = 500;
        alignas(64) static std::byte memory[slab_bytes];
        auto* records = new (memory) ExtentHeader{};
        records->capacity = scopes;
        auto* stack = new (memory + slab_bytes / 2) ExtentHeader{};
        ThreadBuffer thread;
        thread.extent = {records, nullptr};
        Lane lane;
        lane.extent = {stack, nullptr};
        lane.entries = reinterpret_cast<OpenScope*>(stack + 1);
        lane.capacity = 2;
        const int64_t start_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
        for (int i = 0; i < scopes; ++i) {
            begin_scope(thread, lane, 1, 0);
            end_scope(thread, lane, 1, base::ticks());
        }
        return double(base::read_clock_ns(CLOCK_MONOTONIC_RAW) - start_ns) / scopes;
    }();
    return cost;
}

}  // namespace kinetograph::record
