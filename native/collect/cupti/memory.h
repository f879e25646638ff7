// What CUPTI tells of memory on devices, as we record it.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/event.h"

namespace kinetograph::collect::cupti {

struct ToldMemory {
    uint64_t time = 0;  // 0: not to be recorded
    uint32_t correlation = 0;
    record::DeviceMemory details{};
};

// Of memory of the host, which CUDA may take as well, nothing is recorded.
ToldMemory memory_of(const CUpti_ActivityMemory4& memory);
ToldMemory memory_of(const CUpti_ActivityMemoryPool3& pool);

}  // namespace kinetograph::collect::cupti
