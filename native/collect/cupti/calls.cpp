#include "collect/cupti/calls.h"

#include <algorithm>
#include <iterator>

#include "collect/cupti/shapes.h"

namespace kinetograph::collect::cupti {

namespace {

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

template <class Enable>
void silence(const std::vector<bool>& table, Enable enable, uint32_t except) {
    if (!enable) return;
    for (uint32_t callback = 1; callback < table.size(); ++callback)
        if (!table[callback] && callback != except) enable(callback, 0);
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

// Single calls can only be switched off while their kind is on: on its own, switching calls on records
// nothing.
void WantedCalls::silence_others(const Cupti& cupti) const {
    silence(runtime_, cupti.enable_runtime_api, 0);
    // The decoder looks for this one.
    silence(driver_, cupti.enable_driver_api, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
}

}  // namespace kinetograph::collect::cupti
