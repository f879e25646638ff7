#include "collect/cupti/synchronize.h"

namespace kinetograph::collect::cupti {

namespace {

// Asking the legacy stream does no harm to a capture, and tells of those that it would be part of.
bool legacy_stream_is_captured(const Driver& driver) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.is_capturing &&
           driver.is_capturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

bool wait_for_current_context(const Driver& driver) {
    return !legacy_stream_is_captured(driver) && driver.synchronize() == CUDA_SUCCESS;
}

// Only contexts that are there already; none is made.
bool wait_for_primary_context(const Driver& driver, int index) {
    CUdevice device = 0;
    unsigned flags = 0;
    int is_active = 0;
    CUcontext context = nullptr;
    if (driver.device(&device, index) != CUDA_SUCCESS ||
        driver.primary_context_state(device, &flags, &is_active) != CUDA_SUCCESS || !is_active)
        return true;
    if (driver.retain_primary_context(&context, device) != CUDA_SUCCESS) return true;
    bool waited = false;
    if (driver.push_context(context) == CUDA_SUCCESS) {
        waited = wait_for_current_context(driver);
        driver.pop_context(&context);
    }
    driver.release_primary_context(device);
    return waited;
}

}  // namespace

bool wait_for_devices(const Driver& driver) {
    int devices = 0;
    if (driver.device_count(&devices) != CUDA_SUCCESS) return false;
    bool waited = true;
    CUcontext current = nullptr;
    if (driver.current_context(&current) == CUDA_SUCCESS && current)
        waited = wait_for_current_context(driver);
    for (int index = 0; waited && index < devices; ++index) waited = wait_for_primary_context(driver, index);
    return waited;
}

}  // namespace kinetograph::collect::cupti
