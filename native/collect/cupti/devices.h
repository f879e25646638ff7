// The devices of this machine as the driver tells them: for metadata, and for how full a kernel makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

struct Device {
    int32_t id = 0;
    std::string name;
    uint64_t memory_bytes = 0;
    int major = 0, minor = 0;
    int max_threads_per_block = 0, max_threads_per_multiprocessor = 0;
    int registers_per_block = 0, registers_per_multiprocessor = 0;
    int warp_size = 0, multiprocessors = 0;
    int shared_per_block = 0, shared_per_block_optin = 0, shared_per_multiprocessor = 0, shared_reserved = 0;
};

std::vector<Device> find_devices(const Driver& driver);

// `deviceProperties` as Kineto writes it: a JSON list of objects.
std::string properties_json(const std::vector<Device>& devices);

// What a kernel asks of a multiprocessor.
struct LaunchShape {
    int64_t blocks = 0;
    int threads_per_block = 0;
    int registers_per_thread = 0;
    int static_shared_bytes = 0, dynamic_shared_bytes = 0;
};

struct Occupancy {
    float blocks_per_multiprocessor = 0;
    float warps_per_multiprocessor = 0;
    int percent = 0;  // estimated by NVIDIA's calculator; 0 where it does not know the device
};
Occupancy occupancy_of(const Device& device, const LaunchShape& shape);

}  // namespace kinetograph::collect::cupti
