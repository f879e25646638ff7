#include "collect/cupti/memory.h"

#include "collect/cupti/append_struct.h"

namespace kinetograph::collect::cupti {

namespace {

using record::MemoryOperation;

// Managed memory counts for the device that CUPTI names, although it may lie on the host for a while.
bool is_on_device(uint32_t kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
        case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
        case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
        case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
        case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
            return true;
        default:
            return false;
    }
}

}  // namespace

ToldMemory memory_of(const CUpti_ActivityMemory4& memory) {
    const bool is_release = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    if (!is_on_device(memory.memoryKind) || memory.address == 0) return {};
    ToldMemory told{memory.timestamp, memory.correlationId, {}};
    told.details.place = {cuda_device, {}, int32_t(memory.deviceId), -1};
    told.details.address = memory.address;
    told.details.bytes = memory.bytes;
    told.details.operation = is_release ? MemoryOperation::release : MemoryOperation::allocation;
    // Of a pool that another process made no size is told.
    const auto pool = memory.memoryPoolConfig;
    if (memory.isAsync && pool.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
        told.details.pool = pool.address;
        told.details.pool_bytes = pool.pool.size;
    }
    return told;
}

ToldMemory memory_of(const CUpti_ActivityMemoryPool3& pool) {
    if (pool.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL || pool.address == 0) return {};
    const bool is_gone = pool.memoryPoolOperationType == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED;
    ToldMemory told{pool.timestamp, pool.correlationId, {}};
    told.details.place = {cuda_device, {}, int32_t(pool.deviceId), -1};
    told.details.pool = pool.address;
    told.details.pool_bytes = is_gone ? 0 : pool.size;
    told.details.operation = MemoryOperation::pool;
    return told;
}

}  // namespace kinetograph::collect::cupti
