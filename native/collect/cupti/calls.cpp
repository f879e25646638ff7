#include "collect/cupti/calls.h"

#include <algorithm>
#include <iterator>

#include "collect/cupti/shapes.h"

namespace kinetograph::collect::cupti {

namespace {

// That a library may have beyond those of our headers. What it does not have, it refuses.
constexpr uint32_t newer_calls = 100;

// Frequent, short, and of no interest.
constexpr std::string_view noise[] = {
    "cudaGetDevice",      "cudaSetDevice",   "cudaGetLastError",         "cudaPeekAtLastError",
    "cudaGetErrorString", "cudaEventCreate", "cudaEventCreateWithFlags", "cudaEventDestroy"};

std::vector<bool> table_of(const Cupti& cupti, CUpti_CallbackDomain domain, uint32_t size,
                           bool (*is_wanted)(std::string_view)) {
    std::vector<bool> table(size, true);
    for (uint32_t callback = 1; callback < size; ++callback) {
        const char* name = nullptr;
        if (cupti.callback_name(domain, callback, &name) == CUPTI_SUCCESS && name)
            table[callback] = is_wanted(without_version(name));
    }
    return table;
}

}  // namespace

bool is_wanted_runtime_call(std::string_view name) {
    return std::find(std::begin(noise), std::end(noise), name) == std::end(noise);
}

bool is_wanted_driver_call(std::string_view name) {
    return name.starts_with("cuLaunch") || name.starts_with("cuMem") || name.starts_with("cuGraphLaunch");
}

WantedCalls::WantedCalls(const Cupti& cupti)
    : runtime_(table_of(cupti, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
                        is_wanted_runtime_call)),
      driver_(
          table_of(cupti, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE, is_wanted_driver_call)) {}

bool WantedCalls::watch(const Cupti& cupti, CUpti_SubscriberHandle subscriber) const {
    bool has_any = false;
    const auto ask_for = [&](CUpti_CallbackDomain domain, uint32_t callback) {
        if (cupti.enable_callback(1, subscriber, domain, callback) == CUPTI_SUCCESS) has_any = true;
    };
    for (uint32_t callback = 1; callback < runtime_.size() + newer_calls; ++callback)
        if (wants_runtime(callback)) ask_for(CUPTI_CB_DOMAIN_RUNTIME_API, callback);
    for (uint32_t callback = 1; callback < driver_.size() + newer_calls; ++callback)
        if (wants_driver(callback)) ask_for(CUPTI_CB_DOMAIN_DRIVER_API, callback);
    return has_any;
}

}  // namespace kinetograph::collect::cupti
