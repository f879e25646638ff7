#include "collect/cupti/synchronize.h"

namespace kinetograph::collect::cupti {

namespace {

// Asking the legacy stream does no harm to a capture, and tells of those that it would be part of.
bool legacy_stream_is_captured(const Driver& driver) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.is_capturing &&
           driver.is_capturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

void wait_for_current_context(const Driver& driver, Waiting& waiting) {
    waiting.is_done = !legacy_stream_is_captured(driver) && driver.synchronize() == CUDA_SUCCESS;
    ++waiting.contexts;
}

// Only contexts that are there already; none is made.
void wait_for_primary_context(const Driver& driver, int index, Waiting& waiting) {
    CUdevice device = 0;
    unsigned flags = 0;
    int is_active = 0;
    CUcontext context = nullptr;
    if (driver.device(&device, index) != CUDA_SUCCESS ||
        driver.primary_context_state(device, &flags, &is_active) != CUDA_SUCCESS || !is_active)
        return;
    if (driver.retain_primary_context(&context, device) != CUDA_SUCCESS) return;
    waiting.is_done = driver.push_context(context) == CUDA_SUCCESS;
    if (waiting.is_done) {
        wait_for_current_context(driver, waiting);
        driver.pop_context(&context);
    }
    driver.release_primary_context(device);
}

}  // namespace

Waiting wait_for_devices(const Driver& driver) {
    int devices = 0;
    if (driver.device_count(&devices) != CUDA_SUCCESS) return {false, 0};
    Waiting waiting;
    CUcontext current = nullptr;
    if (driver.current_context(&current) == CUDA_SUCCESS && current)
        wait_for_current_context(driver, waiting);
    for (int index = 0; waiting.is_done && index < devices; ++index)
        wait_for_primary_context(driver, index, waiting);
    return waiting;
}

}  // namespace kinetograph::collect::cupti
