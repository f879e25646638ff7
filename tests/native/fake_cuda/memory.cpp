// The fake program takes memory and gives it back.
#include <cupti.h>

#include "fake_cuda.h"
#include "libcupti.h"

using namespace fake;

namespace {

template <class Struct>
void add(const Struct& record) {
    add_record(&record, sizeof record);
}

CUpti_ActivityMemory4 memory(CUpti_ActivityMemoryOperationType operation, uint64_t address, uint64_t bytes) {
    CUpti_ActivityMemory4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    record.memoryOperationType = operation;
    record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record.address = address;
    record.bytes = bytes;
    record.timestamp = now();
    return record;
}

void set_pool(CUpti_ActivityMemory4& record, uint64_t pool, uint64_t pool_bytes) {
    if (pool == 0) return;
    record.isAsync = 1;
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = pool;
    record.memoryPoolConfig.pool.size = pool_bytes;
}

void change(uint32_t callback, CUpti_ActivityMemoryOperationType operation, uint64_t address, uint64_t bytes,
            uint32_t device, uint64_t pool, uint64_t pool_bytes) {
    make_call(callback, [&](uint32_t correlation) {
        CUpti_ActivityMemory4 record = memory(operation, address, bytes);
        record.correlationId = correlation;
        record.deviceId = device;
        set_pool(record, pool, pool_bytes);
        add(record);
    });
}

}  // namespace

void fake_allocate(uint64_t address, uint64_t bytes, uint32_t device, uint64_t pool, uint64_t pool_bytes) {
    change(pool ? CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020 : CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
           CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, address, bytes, device, pool, pool_bytes);
}

void fake_free(uint64_t address, uint64_t bytes, uint32_t device, uint64_t pool, uint64_t pool_bytes) {
    change(pool ? CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020 : CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
           CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, address, bytes, device, pool, pool_bytes);
}

void fake_allocate_pinned(uint64_t address, uint64_t bytes) {
    make_call(CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020, [&](uint32_t correlation) {
        CUpti_ActivityMemory4 record =
            memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, address, bytes);
        record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
        record.correlationId = correlation;
        add(record);
    });
}

void fake_trim_pool(uint64_t pool, uint64_t pool_bytes, uint32_t device) {
    make_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolTrimTo_v11020, [&](uint32_t correlation) {
        CUpti_ActivityMemoryPool3 record{};
        record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
        record.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
        record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        record.correlationId = correlation;
        record.deviceId = device;
        record.address = pool;
        record.size = pool_bytes;
        record.timestamp = now();
        add(record);
    });
}
