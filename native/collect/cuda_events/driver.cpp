#include "collect/cuda_events/driver.h"

#include <dlfcn.h>

#include <mutex>

namespace kinetograph::collect::cuda_events {

namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

bool load(void* library, Driver& driver) {
    find(library, "cuStreamGetId", driver.stream_id);
    find(library, "cuCtxGetId", driver.context_id);
    return find(library, "cuDeviceGetCount", driver.device_count) &&
           find(library, "cuDeviceGet", driver.device) &&
           find(library, "cuDevicePrimaryCtxGetState", driver.primary_context_state) &&
           find(library, "cuDevicePrimaryCtxRetain", driver.retain_primary_context) &&
           find(library, "cuDevicePrimaryCtxRelease_v2", driver.release_primary_context) &&
           find(library, "cuCtxGetCurrent", driver.current_context) &&
           find(library, "cuCtxPushCurrent_v2", driver.push_context) &&
           find(library, "cuCtxPopCurrent_v2", driver.pop_context) &&
           find(library, "cuCtxGetDevice", driver.context_device) &&
           find(library, "cuEventCreate", driver.create_event) &&
           find(library, "cuEventDestroy_v2", driver.destroy_event) &&
           find(library, "cuEventRecord", driver.record_event) &&
           find(library, "cuEventSynchronize", driver.wait_for_event) &&
           (find(library, "cuEventElapsedTime_v2", driver.elapsed_time) ||
            find(library, "cuEventElapsedTime", driver.elapsed_time)) &&
           find(library, "cuStreamCreate", driver.create_stream) &&
           find(library, "cuStreamDestroy_v2", driver.destroy_stream) &&
           find(library, "cuStreamIsCapturing", driver.is_capturing) &&
           find(library, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
}

}  // namespace

const Driver* initialised_driver() {
    static std::mutex mutex;
    static Driver* driver = nullptr;
    std::lock_guard lock(mutex);
    if (!driver) {
        void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        Driver found;
        if (!library || !load(library, found)) return nullptr;
        driver = new Driver(found);  // for ever: it stays mapped
    }
    int devices = 0;
    return driver->device_count(&devices) == CUDA_SUCCESS && devices > 0 ? driver : nullptr;
}

CurrentContext::CurrentContext(const Driver& driver, int device) : driver_(driver) {
    if (driver_.current_context(&context_) != CUDA_SUCCESS) context_ = nullptr;
    if (!context_) push_primary(device);
}

void CurrentContext::push_primary(int index) {
    CUdevice device = 0;
    unsigned flags = 0;
    int is_active = 0;
    if (driver_.device(&device, index) != CUDA_SUCCESS ||
        driver_.primary_context_state(device, &flags, &is_active) != CUDA_SUCCESS || !is_active ||
        driver_.retain_primary_context(&context_, device) != CUDA_SUCCESS) {
        context_ = nullptr;
        return;
    }
    retained_ = device;
    if (driver_.push_context(context_) != CUDA_SUCCESS) context_ = nullptr;
}

CurrentContext::~CurrentContext() {
    if (retained_ < 0) return;
    CUcontext popped = nullptr;
    if (context_) driver_.pop_context(&popped);
    driver_.release_primary_context(retained_);
}

}  // namespace kinetograph::collect::cuda_events
