// The fake driver.
#include <cuda.h>
#include <cupti.h>
#include <string.h>

#include <atomic>
#include <vector>

#include "fake_cuda.h"
#include "libcuda.h"

namespace {

std::atomic<bool> is_initialised{false};
std::atomic<int> devices{1}, capturing{0}, broken{0}, synchronizations{0};
std::atomic<void (*)(uint32_t)> on_call{nullptr};
std::atomic<CUcontext> current{nullptr};
thread_local std::vector<CUcontext> pushed;
std::atomic<int> destroyed{0};
std::atomic<int> capability{90};
CUcontext const primary = reinterpret_cast<CUcontext>(0x1000);

CUcontext numbered(int number) {
    return reinterpret_cast<CUcontext>(uintptr_t(0x1000) * uintptr_t(number));
}

CUresult if_initialised() {
    return is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

void tell_of_call(uint32_t callback) {
    if (void (*const tell)(uint32_t) = on_call) tell(callback);
}

// As an H200 has them.
int attribute_of(CUdevice_attribute attribute) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return capability / 10;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            return capability % 10;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            return 2048;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
            return 65536;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            return 32;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return 132;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            return 49152;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            return 232448;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            return 233472;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
            return 1024;
        default:
            return 0;
    }
}

}  // namespace

CUcontext fake::current_context() {
    return pushed.empty() ? current.load() : pushed.back();
}

bool fake::is_destroyed(CUcontext context) {
    return destroyed != 0 && context == numbered(destroyed);
}

bool fake::is_reset() {
    return is_destroyed(primary);
}

#define CUDA_FAKE extern "C" __attribute__((visibility("default"))) CUresult

CUDA_FAKE cuInit(unsigned) {
    is_initialised = true;
    current = primary;
    return CUDA_SUCCESS;
}

CUDA_FAKE cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

CUDA_FAKE cuDeviceGetCount(int* count) {
    *count = devices;
    return if_initialised();
}

CUDA_FAKE cuDeviceGet(CUdevice* device, int index) {
    *device = index;
    return if_initialised();
}

CUDA_FAKE cuDeviceGetName(char* name, int length, CUdevice) {
    strncpy(name, "Fake \"H200\"", size_t(length));
    return if_initialised();
}

CUDA_FAKE cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
    *bytes = size_t(139) << 30;
    return if_initialised();
}

CUDA_FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute_of(attribute);
    return if_initialised();
}

CUDA_FAKE cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
    *flags = 0;
    *active = !fake::is_destroyed(primary);
    return if_initialised();
}

CUDA_FAKE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = primary;
    return if_initialised();
}

CUDA_FAKE cuDevicePrimaryCtxRelease_v2(CUdevice) {
    return if_initialised();
}

CUDA_FAKE cuCtxGetCurrent(CUcontext* context) {
    *context = fake::current_context();
    if (is_initialised) tell_of_call(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
    return if_initialised();
}

CUDA_FAKE cuCtxPushCurrent_v2(CUcontext context) {
    if (fake::is_destroyed(context)) return CUDA_ERROR_INVALID_CONTEXT;
    pushed.push_back(context);
    return if_initialised();
}

CUDA_FAKE cuCtxPopCurrent_v2(CUcontext* context) {
    *context = fake::current_context();
    if (!pushed.empty()) pushed.pop_back();
    return if_initialised();
}

CUDA_FAKE cuCtxGetDevice(CUdevice* device) {
    *device = 0;
    return if_initialised();
}

CUDA_FAKE cuCtxSynchronize(void) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (capturing) {
        broken = 1;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    ++synchronizations;
    tell_of_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
    return CUDA_SUCCESS;
}

void fake_set_context(int number) {
    current = numbered(number);
}

void fake_destroy_context(int number) {
    destroyed = number;
    fake::forget_context(numbered(number));
}

void fake_set_devices(int count) {
    devices = count;
}

void fake_set_capability(int value) {
    capability = value;
}

void fake_set_capturing(int value) {
    capturing = value;
}

int fake_capture_is_broken(void) {
    return broken;
}

int fake_synchronizations(void) {
    return synchronizations;
}

void fake_set_on_call(void (*callback)(uint32_t)) {
    on_call = callback;
}
