// Which calls of the CUDA runtime and driver are worth an event: the same that Kineto keeps.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

class WantedCalls {
public:
    explicit WantedCalls(const Cupti& cupti);

    bool wants_runtime(uint32_t callback) const { return wants(runtime_, callback); }
    bool wants_driver(uint32_t callback) const { return wants(driver_, callback); }

    // CUPTI calls its subscriber before and after each of them. False where it refuses them all.
    bool watch(const Cupti& cupti, CUpti_SubscriberHandle subscriber) const;

private:
    // Those that came after this list are wanted: better one too many than a launch that is missing.
    static bool wants(const std::vector<bool>& table, uint32_t callback) {
        return callback >= table.size() || table[callback];
    }

    std::vector<bool> runtime_, driver_;
};

// By their names without versions.
bool is_wanted_runtime_call(std::string_view name);
bool is_wanted_driver_call(std::string_view name);

}  // namespace kinetograph::collect::cupti
