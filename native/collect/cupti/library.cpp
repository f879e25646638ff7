#include "collect/cupti/library.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>

#include "base/mapped_library.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr uint32_t oldest_version = 18;  // CUDA 11.8 and 12.0

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

// Drivers keep old symbols for ever; the newest spelling first.
template <class Function>
bool find(void* library, const char* name, const char* older, Function& function) {
    return find(library, name, function) || find(library, older, function);
}

bool load(void* library, Driver& driver) {
    find(library, "cuStreamIsCapturing", driver.is_capturing);
    return find(library, "cuDriverGetVersion", driver.driver_version) &&
           find(library, "cuDeviceGetCount", driver.device_count) &&
           find(library, "cuDeviceGet", driver.device) &&
           find(library, "cuDeviceGetName", driver.device_name) &&
           find(library, "cuDeviceGetAttribute", driver.device_attribute) &&
           find(library, "cuDeviceTotalMem_v2", "cuDeviceTotalMem", driver.device_memory) &&
           find(library, "cuDevicePrimaryCtxGetState", driver.primary_context_state) &&
           find(library, "cuDevicePrimaryCtxRetain", driver.retain_primary_context) &&
           find(library, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease",
                driver.release_primary_context) &&
           find(library, "cuCtxGetCurrent", driver.current_context) &&
           find(library, "cuCtxPushCurrent_v2", "cuCtxPushCurrent", driver.push_context) &&
           find(library, "cuCtxPopCurrent_v2", "cuCtxPopCurrent", driver.pop_context) &&
           find(library, "cuCtxSynchronize", driver.synchronize);
}

void load_optional(void* library, CuptiFunctions& cupti) {
    find(library, "cuptiActivityRegisterTimestampCallback", cupti.register_timestamp);
    find(library, "cuptiActivityEnableAndDump", cupti.enable_and_dump);
    find(library, "cuptiActivityEnableDriverApi", cupti.enable_driver_call);
    find(library, "cuptiActivityEnableCudaEventDeviceTimestamps", cupti.event_timestamps);
}

bool load(void* library, CuptiFunctions& cupti) {
    load_optional(library, cupti);
    return find(library, "cuptiGetVersion", cupti.get_version) &&
           find(library, "cuptiGetResultString", cupti.result_string) &&
           find(library, "cuptiGetCallbackName", cupti.callback_name) &&
           find(library, "cuptiSubscribe", cupti.subscribe) &&
           find(library, "cuptiUnsubscribe", cupti.unsubscribe) &&
           find(library, "cuptiEnableCallback", cupti.enable_callback) &&
           find(library, "cuptiEnableDomain", cupti.enable_domain) &&
           find(library, "cuptiFinalize", cupti.finalize) &&
           find(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks) &&
           find(library, "cuptiActivityEnable", cupti.enable) &&
           find(library, "cuptiActivityDisable", cupti.disable) &&
           find(library, "cuptiActivityFlushAll", cupti.flush_all) &&
           find(library, "cuptiActivitySetAttribute", cupti.set_attribute) &&
           find(library, "cuptiActivityGetNextRecord", cupti.next_record) &&
           find(library, "cuptiActivityGetNumDroppedRecords", cupti.dropped_records) &&
           find(library, "cuptiSetThreadIdType", cupti.set_thread_id_type);
}

std::string last_error() {
    const char* text = dlerror();
    return text ? text : "no reason given";
}

// To open a pipe would wait for whoever writes to it.
bool is_something_else(const std::string& path) {
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    return path.find('/') != std::string::npos && std::filesystem::exists(status) &&
           !std::filesystem::is_regular_file(status);
}

// Empty when it can be used.
std::string try_library(const std::string& path, Cupti& cupti) {
    if (is_something_else(path)) return path + " is not a file";
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) return last_error();
    cupti.path = path;
    if (!load(library, cupti)) return path + " lacks functions that every libcupti since 11.8 has";
    if (cupti.get_version(&cupti.version) != CUPTI_SUCCESS || cupti.version < oldest_version)
        return path + " does not tell that it is CUPTI 11.8 or newer";
    return {};
}

Cupti find_cupti(const std::vector<std::string>& candidates) {
    Cupti cupti;
    const std::string mapped = base::mapped_library("libcupti.so");
    if (!mapped.empty()) {
        const std::string reason = try_library(mapped, cupti);
        if (reason.empty()) return cupti;
        throw std::runtime_error(reason);
    }
    std::string reasons;
    for (const std::string& candidate : candidates) {
        const std::string reason = try_library(candidate, cupti);
        if (reason.empty()) return cupti;
        (reasons += reasons.empty() ? "" : "; ") += reason;
    }
    if (candidates.size() != 1)
        reasons = "no libcupti can be used, and pip install 'kinetograph[cuda]' brings one: " + reasons;
    throw std::runtime_error(reasons);
}

}  // namespace

bool driver_is_mapped() {
    return !base::mapped_library("libcuda.so").empty();
}

const Driver* initialised_driver() {
    static std::mutex mutex;
    static Driver* driver = nullptr;
    std::lock_guard lock(mutex);
    if (!driver) {
        const std::string path = base::mapped_library("libcuda.so");
        void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        Driver found;
        if (!library || !load(library, found)) return nullptr;
        driver = new Driver(found);  // for ever: it stays mapped
    }
    int devices = 0;
    return driver->device_count(&devices) == CUDA_SUCCESS && devices > 0 ? driver : nullptr;
}

int runtime_version() {
    const std::string path = base::mapped_library("libcudart");
    void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return 0;
    int (*get_version)(int*) = nullptr;  // 0 is success
    int version = 0;
    if (!find(library, "cudaRuntimeGetVersion", get_version) || get_version(&version) != 0) version = 0;
    dlclose(library);  // as often loaded as before
    return version;
}

const Cupti& open_cupti(const std::vector<std::string>& candidates) {
    static std::mutex mutex;
    static Cupti* opened = nullptr;
    std::lock_guard lock(mutex);
    if (!opened) opened = new Cupti(find_cupti(candidates));  // never unloaded: it may hold threads and hooks
    return *opened;
}

std::string describe(const Cupti& cupti, CUptiResult result) {
    const char* text = nullptr;
    if (cupti.result_string(result, &text) != CUPTI_SUCCESS || !text) text = "no text for it";
    return "error " + std::to_string(int(result)) + ", " + text;
}

}  // namespace kinetograph::collect::cupti
