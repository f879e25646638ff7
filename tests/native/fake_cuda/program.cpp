// The fake program, and what the fake CUPTI records of it.
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "collect/cupti/record_sizes.h"
#include "fake_cuda.h"
#include "libcupti.h"

namespace fake {

namespace {

constexpr uint32_t context_id = 1;
// Nothing of what is done runs into what is done next, however slow the clock.
constexpr uint64_t work_ticks = 1;

uint8_t* buffer = nullptr;
size_t buffer_bytes = 0, used = 0, dropped = 0;
uint32_t next_correlation = 1;
bool holds_work = false;
std::vector<std::vector<uint8_t>> held;
std::map<uint32_t, size_t> unknown_sizes;
std::unordered_set<std::string> names;  // as long-lived as CUPTI's

// The other tool's buffers that it has not got back.
struct LentBuffers {
    ~LentBuffers() {
        for (uint8_t* each : all) free(each);
    }
    std::unordered_set<uint8_t*> all;
} other_tools;

// How much longer a record is in versions of which nobody knows how long it is.
constexpr size_t grown_by = 16;

// `known` is what our headers say. 0 for a record that was never made.
size_t bytes_of(uint32_t kind, size_t known = 0) {
    const size_t in_table = kinetograph::collect::cupti::RecordSizes(pretended_version()).of(kind);
    if (in_table != 0) return in_table;
    if (known != 0) return unknown_sizes.try_emplace(kind, known + grown_by).first->second;
    const auto unknown = unknown_sizes.find(kind);
    return unknown == unknown_sizes.end() ? 0 : unknown->second;
}

void append(const std::vector<uint8_t>& record) {
    if (!client.request) return;
    if (buffer && used + record.size() > buffer_bytes) complete_buffer();
    if (!buffer) {
        size_t most = 0;
        client.request(&buffer, &buffer_bytes, &most);
        used = 0;
    }
    if (!buffer || record.size() > buffer_bytes) {
        ++dropped;
        return;
    }
    memcpy(buffer + used, record.data(), record.size());
    used += record.size();
}

template <class Struct>
std::vector<uint8_t> cut(const Struct& record) {
    std::vector<uint8_t> bytes(bytes_of(record.kind, sizeof record));
    memcpy(bytes.data(), &record, std::min(bytes.size(), sizeof record));
    return bytes;
}

// Host side: recorded at once.
template <class Struct>
void add(const Struct& record) {
    if (is_enabled(record.kind)) append(cut(record));
}

// On the device: recorded when it is finished.
void add_work(std::vector<uint8_t> record, uint32_t kind) {
    if (!is_enabled(kind)) return;
    if (holds_work)
        held.push_back(std::move(record));
    else
        append(record);
}

template <class Struct>
void add_work(const Struct& record) {
    add_work(cut(record), record.kind);
}

// From 13.1 on they have a priority, behind what our headers know.
void add_work(const CUpti_ActivityKernel10& kernel) {
    constexpr int32_t priority = -3;
    std::vector<uint8_t> record = cut(kernel);
    if (record.size() > sizeof kernel) memcpy(record.data() + sizeof kernel, &priority, sizeof priority);
    add_work(std::move(record), kernel.kind);
}

void call_back(CUpti_CallbackDomain domain, uint32_t callback, CUpti_ApiCallbackSite site,
               uint32_t correlation, const void* parameters = nullptr) {
    if (!calls_back(domain, callback)) return;
    CUpti_CallbackData data{};
    int success = 0;
    data.callbackSite = site;
    data.correlationId = correlation;
    data.functionReturnValue = &success;
    data.functionParams = parameters;
    client.callback(client.data, domain, callback, &data);
}

// Whatever the program calls: callbacks around it, and a record of it.
template <class Do>
uint32_t call(bool is_driver, uint32_t callback, Do&& work, const void* parameters = nullptr) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    const auto domain = is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const uint32_t correlation = next_correlation++;
    CUpti_ActivityAPI api{};
    api.kind = is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
    const bool is_recorded = records_call(is_driver, callback);
    client.follows_compilations |= is_recorded || calls_back(domain, callback);
    call_back(domain, callback, CUPTI_API_ENTER, correlation, parameters);
    api.cbid = callback;
    api.start = now();
    api.processId = uint32_t(getpid());
    api.threadId = uint32_t(syscall(SYS_gettid));
    api.correlationId = correlation;
    work(correlation);
    api.end = now();
    if (is_recorded) append(cut(api));
    call_back(domain, callback, CUPTI_API_EXIT, correlation, parameters);
    return correlation;
}

void finish_held_work() {
    for (const auto& record : held) append(record);
    held.clear();
}

CUpti_ActivityKernel10 kernel_record(const char* name, uint32_t device, uint32_t stream,
                                     uint32_t correlation) {
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = names.insert(name).first->c_str();
    kernel.start = now();
    kernel.end = now() + work_ticks;
    kernel.deviceId = device;
    kernel.contextId = context_id + device;
    kernel.streamId = stream;
    kernel.correlationId = correlation;
    kernel.registersPerThread = 32;
    kernel.gridX = 264;
    kernel.gridY = kernel.gridZ = 1;
    kernel.blockX = 256;
    kernel.blockY = kernel.blockZ = 1;
    kernel.dynamicSharedMemory = 1024;
    return kernel;
}

void add_kernel(const char* name, uint32_t device, uint32_t stream, uint32_t correlation, uint32_t graph,
                uint64_t node) {
    CUpti_ActivityKernel10 kernel = kernel_record(name, device, stream, correlation);
    kernel.graphId = graph;
    kernel.graphNodeId = node;
    add_work(kernel);
}

CUpti_ActivityMemcpyPtoP4 peer_copy(uint64_t bytes, uint32_t from_device, uint32_t to_device, uint32_t stream,
                                    uint32_t correlation) {
    CUpti_ActivityMemcpyPtoP4 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    copy.srcKind = copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    copy.bytes = bytes;
    copy.start = now();
    copy.end = now() + work_ticks;
    copy.deviceId = copy.srcDeviceId = from_device;
    copy.contextId = copy.srcContextId = context_id + from_device;
    copy.dstDeviceId = to_device;
    copy.dstContextId = context_id + to_device;
    copy.streamId = stream;
    copy.correlationId = correlation;
    return copy;
}

void request_of_other_tool(uint8_t** data, size_t* bytes, size_t* most) {
    *bytes = 1 << 16;
    *data = static_cast<uint8_t*>(calloc(1, *bytes));
    *most = 0;
    other_tools.all.insert(*data);
}

// It frees what it is given, ours too, which CUPTI had when it came.
void complete_of_other_tool(CUcontext, uint32_t, uint8_t* data, size_t, size_t) {
    other_tools.all.erase(data);
    free(data);
}

}  // namespace

uint32_t make_call(uint32_t runtime_callback, const std::function<void(uint32_t correlation)>& within) {
    return call(false, runtime_callback, within);
}

void add_record(const void* record, size_t bytes) {
    uint32_t kind = 0;
    memcpy(&kind, record, sizeof kind);
    if (!is_enabled(kind)) return;
    std::vector<uint8_t> cut(bytes_of(kind, bytes));
    memcpy(cut.data(), record, std::min(cut.size(), bytes));
    append(cut);
}

void complete_buffer() {
    if (!buffer) return;
    uint8_t* full = buffer;
    const size_t bytes = buffer_bytes, valid = used;
    buffer = nullptr;
    buffer_bytes = used = 0;
    if (client.complete) client.complete(nullptr, 0, full, bytes, valid);
}

CUptiResult next_record(uint8_t* begin, size_t valid, CUpti_Activity** record) {
    auto* at = reinterpret_cast<uint8_t*>(*record);
    uint8_t* next = at ? at + bytes_of((*record)->kind) : begin;
    if (next >= begin + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
}

size_t take_dropped() {
    const size_t count = dropped;
    dropped = 0;
    return count;
}

void see_driver_call(uint32_t callback) {
    call(true, callback, [=](uint32_t) {
        if (callback == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize) finish_held_work();
    });
}

}  // namespace fake

using namespace fake;

uint32_t fake_launch(const char* kernel, uint32_t device, uint32_t stream) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                [&](uint32_t correlation) { add_kernel(kernel, device, stream, correlation, 0, 0); });
}

uint32_t fake_driver_launch(const char* kernel, uint32_t device, uint32_t stream) {
    return call(true, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                [&](uint32_t correlation) { add_kernel(kernel, device, stream, correlation, 0, 0); });
}

uint32_t fake_copy(uint64_t bytes, uint8_t kind, uint8_t from, uint8_t to, uint32_t stream) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, [&](uint32_t correlation) {
        CUpti_ActivityMemcpy6 copy{};
        copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
        copy.copyKind = kind;
        copy.srcKind = from;
        copy.dstKind = to;
        copy.bytes = bytes;
        copy.start = now();
        copy.end = now() + work_ticks;
        copy.contextId = context_id;
        copy.streamId = stream;
        copy.correlationId = correlation;
        add_work(copy);
    });
}

uint32_t fake_peer_copy(uint64_t bytes, uint32_t from_device, uint32_t to_device, uint32_t stream) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000, [&](uint32_t correlation) {
        add_work(peer_copy(bytes, from_device, to_device, stream, correlation));
    });
}

uint32_t fake_launch_graph_of_peer_copy(uint32_t graph, uint32_t from_device, uint32_t to_device,
                                        uint32_t stream) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, [&](uint32_t correlation) {
        CUpti_ActivityMemcpyPtoP4 copy = peer_copy(64, from_device, to_device, stream, correlation);
        copy.graphId = graph;
        copy.graphNodeId = uint64_t(graph) << 32;
        add_work(copy);
        add_kernel("node", from_device, stream, correlation, graph, copy.graphNodeId + 1);
    });
}

uint32_t fake_cooperative_launch(const char* kernel) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, [&](uint32_t correlation) {
        CUpti_ActivityKernel10 record = kernel_record(kernel, 0, 7, correlation);
        record.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
        record.clusterX = 4;
        record.clusterY = record.clusterZ = 1;
        record.localMemoryPerThread = 48;
        record.isDeviceLaunched = 1;
        add_work(record);
    });
}

uint32_t fake_set(uint64_t bytes, uint32_t stream) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, [&](uint32_t correlation) {
        CUpti_ActivityMemset4 set{};
        set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
        set.bytes = bytes;
        set.start = now();
        set.end = now() + work_ticks;
        set.contextId = context_id;
        set.streamId = stream;
        set.correlationId = correlation;
        set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        add_work(set);
    });
}

uint32_t fake_launch_graph(uint32_t graph, uint32_t nodes, uint32_t stream) {
    return call(false, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, [&](uint32_t correlation) {
        for (uint32_t node = 0; node < nodes; ++node)
            add_kernel("node", 0, stream, correlation, graph, uint64_t(graph) << 32 | node);
    });
}

uint32_t fake_runtime_call(uint32_t callback) {
    return call(false, callback, [](uint32_t) {});
}

void fake_record_event(uint32_t event, uint32_t stream) {
    call(false, CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, [&](uint32_t correlation) {
        CUpti_ActivityCudaEvent2 record{};
        record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
        record.correlationId = correlation;
        record.contextId = context_id;
        record.streamId = stream;
        record.eventId = event;
        record.deviceTimestamp = now();
        add(record);
    });
}

static void add_synchronization(CUpti_ActivitySynchronizationType type, uint32_t correlation, uint32_t event,
                                uint32_t stream) {
    CUpti_ActivitySynchronization2 sync{};
    sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    sync.type = type;
    sync.start = now();
    sync.end = now() + work_ticks;
    sync.correlationId = correlation;
    sync.contextId = context_id;
    sync.streamId = stream;
    sync.cudaEventId = event;
    add(sync);
}

void fake_stream_wait_event(uint32_t event, uint32_t stream) {
    call(false, CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020, [&](uint32_t correlation) {
        add_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, correlation, event,
                            stream);
    });
}

void fake_synchronize_stream(uint32_t stream) {
    call(false, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, [&](uint32_t correlation) {
        add_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, correlation, 0, stream);
    });
}

// The stream stands first in the parameters of all of them.
static void call_for_stream(uint32_t runtime_callback, uintptr_t stream) {
    call(false, runtime_callback, [](uint32_t) {}, &stream);
}

void fake_begin_capture(uintptr_t stream) {
    fake_set_capturing(1);
    call_for_stream(CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000, stream);
}

void fake_end_capture(uintptr_t stream) {
    fake_set_capturing(0);
    call_for_stream(CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000, stream);
}

void fake_destroy_stream(uintptr_t stream) {
    fake_set_capturing(0);
    call_for_stream(CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v5050, stream);
}

void fake_overhead(uint32_t kind) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    CUpti_ActivityOverhead3 overhead{};
    overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    overhead.overheadKind = CUpti_ActivityOverheadKind(kind);
    overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    overhead.objectId.pt.processId = uint32_t(getpid());
    overhead.objectId.pt.threadId = uint32_t(syscall(SYS_gettid));
    overhead.start = now();
    overhead.end = now() + work_ticks;
    add(overhead);
}

void fake_create_stream(uint32_t device, uint32_t stream, int32_t priority) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    CUpti_ActivityContext3 context{};
    context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    context.contextId = context_id + device;
    context.deviceId = device;
    add(context);
    CUpti_ActivityStream created{};
    created.kind = CUPTI_ACTIVITY_KIND_STREAM;
    created.contextId = context.contextId;
    created.streamId = stream;
    created.priority = uint32_t(priority);
    created.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
    add(created);
}

void fake_compilation(void) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (!client.follows_compilations) return;
    CUpti_ActivityJit2 compilation{};
    compilation.kind = CUPTI_ACTIVITY_KIND_JIT;
    compilation.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
    compilation.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
    compilation.start = now();
    compilation.end = now() + work_ticks;
    compilation.processId = uint32_t(getpid());
    compilation.threadId = uint32_t(syscall(SYS_gettid));
    add(compilation);
}

void fake_unfinished_kernel(void) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = "unfinished";
    kernel.start = now();
    add(kernel);
}

void fake_odd_kernel(const char* name, uint64_t start, uint64_t end, uint32_t correlation, uint32_t device,
                     uint32_t stream, uint32_t graph) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    CUpti_ActivityKernel10 kernel = kernel_record(name ? name : "", device, stream, correlation);
    if (!name) kernel.name = nullptr;
    kernel.start = start;
    kernel.end = end;
    kernel.graphId = graph;
    add_work(kernel);
}

void fake_drop_records(uint64_t count) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    dropped += count;
}

void fake_unknown_record(uint32_t kind, uint32_t bytes) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    unknown_sizes[kind] = bytes;
    std::vector<uint8_t> record(bytes);
    memcpy(record.data(), &kind, sizeof kind);
    append(record);
}

void fake_take_over(void) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    client.request = request_of_other_tool;
    client.complete = complete_of_other_tool;
}

void fake_hold_work(int hold) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    holds_work = hold != 0;
}
