#include "collect/cupti/devices.h"

#include <cuda_occupancy.h>

#include <algorithm>
#include <climits>

#include "base/json_members.h"

namespace kinetograph::collect::cupti {

namespace {

Device describe(const Driver& driver, int index) {
    Device device;
    device.id = index;
    CUdevice handle = 0;
    if (driver.device(&handle, index) != CUDA_SUCCESS) return device;
    char name[256] = {};
    driver.device_name(name, int(sizeof name) - 1, handle);
    device.name = name;
    size_t bytes = 0;
    driver.device_memory(&bytes, handle);
    device.memory_bytes = bytes;
    const auto attribute = [&](CUdevice_attribute wanted) {
        int value = 0;
        return driver.device_attribute(&value, wanted, handle) == CUDA_SUCCESS ? value : 0;
    };
    device.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    device.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    device.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    device.max_threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    device.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    device.registers_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    device.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    device.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    device.shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    device.shared_per_block_optin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    device.shared_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    device.shared_reserved = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    return device;
}

cudaOccDeviceProp occupancy_properties(const Device& device) {
    cudaOccDeviceProp properties;
    properties.computeMajor = device.major;
    properties.computeMinor = device.minor;
    properties.maxThreadsPerBlock = device.max_threads_per_block;
    properties.maxThreadsPerMultiprocessor = device.max_threads_per_multiprocessor;
    properties.regsPerBlock = device.registers_per_block;
    properties.regsPerMultiprocessor = device.registers_per_multiprocessor;
    properties.warpSize = device.warp_size;
    properties.sharedMemPerBlock = size_t(device.shared_per_block);
    properties.sharedMemPerMultiprocessor = size_t(device.shared_per_multiprocessor);
    properties.numSms = device.multiprocessors;
    properties.sharedMemPerBlockOptin = size_t(device.shared_per_block_optin);
    properties.reservedSharedMemPerBlock = size_t(device.shared_reserved);
    return properties;
}

// How many blocks of it fit on a multiprocessor at once; -1 where the calculator does not know.
int active_blocks(const Device& device, const LaunchShape& shape) {
    const cudaOccDeviceProp properties = occupancy_properties(device);
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = INT_MAX;
    attributes.numRegs = shape.registers_per_thread;
    attributes.sharedSizeBytes = size_t(shape.static_shared_bytes);
    attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = size_t(device.shared_per_block_optin);
    const cudaOccDeviceState state;
    cudaOccResult result;
    const cudaOccError error =
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                shape.threads_per_block, size_t(shape.dynamic_shared_bytes));
    return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

}  // namespace

std::vector<Device> find_devices(const Driver& driver) {
    std::vector<Device> devices;
    int count = 0;
    if (driver.device_count(&count) != CUDA_SUCCESS) return devices;
    for (int index = 0; index < count; ++index) devices.push_back(describe(driver, index));
    return devices;
}

std::string properties_json(const std::vector<Device>& devices) {
    std::string json = "[";
    for (const Device& device : devices) {
        base::JsonMembers members;
        members.add("id", device.id).add("name", device.name).add("totalGlobalMem", device.memory_bytes);
        members.add("computeMajor", device.major).add("computeMinor", device.minor);
        members.add("maxThreadsPerBlock", device.max_threads_per_block);
        members.add("maxThreadsPerMultiprocessor", device.max_threads_per_multiprocessor);
        members.add("regsPerBlock", device.registers_per_block).add("warpSize", device.warp_size);
        members.add("sharedMemPerBlock", device.shared_per_block).add("numSms", device.multiprocessors);
        members.add("regsPerMultiprocessor", device.registers_per_multiprocessor);
        members.add("sharedMemPerBlockOptin", device.shared_per_block_optin);
        members.add("sharedMemPerMultiprocessor", device.shared_per_multiprocessor);
        json += (json.size() > 1 ? ",{" : "{") + members.text() + "}";
    }
    return json + "]";
}

Occupancy occupancy_of(const Device& device, const LaunchShape& shape) {
    Occupancy occupancy;
    if (device.multiprocessors == 0 || device.warp_size == 0) return occupancy;
    occupancy.blocks_per_multiprocessor = float(shape.blocks) / float(device.multiprocessors);
    occupancy.warps_per_multiprocessor =
        occupancy.blocks_per_multiprocessor * float(shape.threads_per_block) / float(device.warp_size);
    if (shape.threads_per_block <= 0 || device.max_threads_per_multiprocessor == 0) return occupancy;
    const int active = active_blocks(device, shape);
    if (active < 0) return occupancy;
    const float blocks = std::min(float(active), occupancy.blocks_per_multiprocessor);
    const float share =
        blocks * float(shape.threads_per_block) / float(device.max_threads_per_multiprocessor);
    occupancy.percent = int(0.5F + share * 100.0F);
    return occupancy;
}

}  // namespace kinetograph::collect::cupti
