#include "collect/cupti/decoder.h"

#include <algorithm>
#include <cstring>

#include "base/json_members.h"
#include "collect/cupti/append_struct.h"
#include "collect/cupti/record_names.h"
#include "collect/cupti/walker.h"
#include "record/recorder.h"

namespace kinetograph::collect::cupti {

namespace {

using record::Category;
using record::DevicePlace;
using record::Record;
using record::RecordKind;
using record::ThreadBuffer;

constexpr size_t most_events_known = 1'000'000;
constexpr size_t most_streams_known = 10'000;
constexpr size_t most_streams_text = 50 * 1024;  // bytes; larger arguments would be dropped as a whole

uint64_t both(uint32_t context, uint32_t number) {
    return uint64_t(context) << 32 | number;
}

uint32_t intern(std::string_view text) {
    return record::Recorder::instance().intern(text);
}

DevicePlace place_of(uint32_t device, int64_t stream) {
    return {cuda_device, {}, int32_t(device), stream};
}

// From 13.1 on it stands behind what our headers know of a kernel.
std::optional<int32_t> priority_in(const uint8_t* record, size_t bytes) {
    int32_t priority = 0;
    if (bytes < sizeof(CUpti_ActivityKernel10) + sizeof priority) return std::nullopt;
    std::memcpy(&priority, record + sizeof(CUpti_ActivityKernel10), sizeof priority);
    return priority;
}

PlaceKey place_key(uint32_t device, uint32_t context, uint32_t stream, uint32_t graph, uint64_t node) {
    return {device, context, stream, graph, node};
}

// Empty where the thread had pushed none. Not "External id": under that key files number events of their own.
std::string members_with_ids(const LoggedCall& call) {
    static constexpr std::string_view keys[external_ids] = {"External correlation id", "User correlation id"};
    if (call.has_ids == 0) return {};
    base::JsonMembers members;
    members.add("cbid", uint32_t(call.callback));
    const LoggedCall* next = &call + 1;
    for (size_t whose = 0; whose < external_ids; ++whose)
        if (call.has_id(whose)) members.add(keys[whose], (next++)->start);
    return members.text();
}

uint32_t flags_of(uint32_t graph) {
    return graph != 0 ? uint32_t(record::work_of_graph) : 0;
}

}  // namespace

bool RecordDecoder::decode(ThreadBuffer& thread, const Buffers::Filled& filled) {
    shapes_.forget_if_gone();
    clock_.anchor();
    if (forgets_numbers_.exchange(false, std::memory_order_relaxed)) {
        streams_.clear();
        events_.clear();
    }
    uint64_t count = 0;
    const bool is_whole =
        walk(cupti_, sizes_, filled.data, filled.valid_bytes, [&](const uint8_t* found, size_t bytes) {
            ++count;
            record::tell_or_count(&thread, [&] { decode_record(thread, found, bytes); });
        });
    records_.fetch_add(count, std::memory_order_relaxed);
    return is_whole;
}

void RecordDecoder::decode(ThreadBuffer& thread, const CallLog::Chunk& chunk) {
    shapes_.forget_if_gone();
    clock_.anchor();
    uint64_t count = 0;
    for (size_t i = 0; i < chunk.count; i += chunk.calls[i].entries(), ++count)
        record::tell_or_count(&thread, [&] { add_call(thread, chunk.tid, chunk.calls[i]); });
    records_.fetch_add(count, std::memory_order_relaxed);
}

void RecordDecoder::decode_record(ThreadBuffer& thread, const uint8_t* record, size_t bytes) {
    switch (kind_of(record)) {
        case CUPTI_ACTIVITY_KIND_KERNEL:
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            return add_kernel(thread, view<CUpti_ActivityKernel10>(record, bytes),
                              priority_in(record, bytes));
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return add_copy(thread, view<CUpti_ActivityMemcpy6>(record, bytes));
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return add_peer_copy(thread, view<CUpti_ActivityMemcpyPtoP4>(record, bytes));
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return add_set(thread, view<CUpti_ActivityMemset4>(record, bytes));
        case CUPTI_ACTIVITY_KIND_DRIVER:
            return see_driver_call(view<CUpti_ActivityAPI>(record, bytes));
        case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
            return add_synchronization(thread, view<CUpti_ActivitySynchronization2>(record, bytes));
        case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
            return add_event(thread, view<CUpti_ActivityCudaEvent2>(record, bytes));
        case CUPTI_ACTIVITY_KIND_OVERHEAD:
            return add_overhead(thread, view<CUpti_ActivityOverhead3>(record, bytes));
        case CUPTI_ACTIVITY_KIND_JIT:
            return add_compilation(thread, view<CUpti_ActivityJit2>(record, bytes), bytes);
        case CUPTI_ACTIVITY_KIND_MEMORY2:
            return add_memory(thread, memory_of(view<CUpti_ActivityMemory4>(record, bytes)));
        case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
            return add_memory(thread, memory_of(view<CUpti_ActivityMemoryPool3>(record, bytes)));
        case CUPTI_ACTIVITY_KIND_CONTEXT: {
            const auto context = view<CUpti_ActivityContext3>(record, bytes);
            devices_[context.contextId] = context.deviceId;
            return;
        }
        case CUPTI_ACTIVITY_KIND_STREAM:
            return see_stream(view<CUpti_ActivityStream>(record, bytes));
        default:
            return;
    }
}

void RecordDecoder::add_kernel(ThreadBuffer& thread, const CUpti_ActivityKernel10& kernel,
                               std::optional<int32_t> priority) {
    devices_[kernel.contextId] = kernel.deviceId;
    const auto [name, collective] = shapes_.kernel_name(kernel.name);
    append_work(thread, {kernel.start,
                         kernel.end,
                         name,
                         Category::kernel,
                         kernel.correlationId,
                         {place_of(kernel.deviceId, kernel.streamId), 0,
                          shapes_.kernel(kernel, priority, collective), flags_of(kernel.graphId)},
                         {}});
}

void RecordDecoder::add_copy(ThreadBuffer& thread, const CUpti_ActivityMemcpy6& copy) {
    devices_[copy.contextId] = copy.deviceId;
    const uint32_t members = shapes_.place(
        place_key(copy.deviceId, copy.contextId, copy.streamId, copy.graphId, copy.graphNodeId));
    append_work(thread, {copy.start,
                         copy.end,
                         intern(copy_name(copy.copyKind, copy.srcKind, copy.dstKind)),
                         Category::gpu_memcpy,
                         copy.correlationId,
                         {place_of(copy.deviceId, copy.streamId), copy.bytes, members,
                          record::work_has_bytes | flags_of(copy.graphId)},
                         {}});
}

void RecordDecoder::add_peer_copy(ThreadBuffer& thread, const CUpti_ActivityMemcpyPtoP4& copy) {
    devices_[copy.contextId] = copy.deviceId;
    base::JsonMembers members;
    members.add("fromDevice", copy.srcDeviceId).add("inDevice", copy.deviceId);
    members.add("toDevice", copy.dstDeviceId).add("fromContext", copy.srcContextId);
    members.add("inContext", copy.contextId).add("toContext", copy.dstContextId);
    members.add("stream", copy.streamId);
    // Of nodes that are put together, these two are asked for under other names.
    if (copy.graphId != 0) {
        members.add("device", copy.deviceId).add("context", copy.contextId);
        members.add("graph id", copy.graphId).add("graph node id", copy.graphNodeId);
    }
    append_work(thread, {copy.start,
                         copy.end,
                         intern(copy_name(copy.copyKind, copy.srcKind, copy.dstKind)),
                         Category::gpu_memcpy,
                         copy.correlationId,
                         {place_of(copy.deviceId, copy.streamId), copy.bytes, shapes_.text(members.text()),
                          record::work_has_bytes | flags_of(copy.graphId)},
                         {}});
}

void RecordDecoder::add_set(ThreadBuffer& thread, const CUpti_ActivityMemset4& set) {
    devices_[set.contextId] = set.deviceId;
    const uint32_t members =
        shapes_.place(place_key(set.deviceId, set.contextId, set.streamId, set.graphId, set.graphNodeId));
    append_work(thread, {set.start,
                         set.end,
                         intern(set_name(set.memoryKind)),
                         Category::gpu_memset,
                         set.correlationId,
                         {place_of(set.deviceId, set.streamId), set.bytes, members,
                          record::work_has_bytes | flags_of(set.graphId)},
                         {}});
}

// Programs that make a stream for each piece of work would fill the trace with them.
void RecordDecoder::see_stream(const CUpti_ActivityStream& stream) {
    if (streams_.size() < most_streams_known)
        streams_[both(stream.contextId, stream.streamId)] = {int32_t(stream.priority), uint32_t(stream.flag)};
}

std::string RecordDecoder::streams_json() const {
    std::string json;
    for (const auto& [key, stream] : streams_) {
        if (json.size() > most_streams_text) break;
        const auto context = uint32_t(key >> 32);
        base::JsonMembers members;
        members.add("device", device_of(context)).add("context", context).add("stream", uint32_t(key));
        members.add("priority", stream.priority).add("kind", stream_kind(stream.kind));
        json += (json.empty() ? "[{" : ",{") + members.text() + "}";
    }
    return json.empty() ? json : json + "]";
}

// Only recorded at the beginning, and while we wait for the GPU.
void RecordDecoder::see_driver_call(const CUpti_ActivityAPI& call) {
    if (call.cbid == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize)
        synchronizations_.fetch_add(1, std::memory_order_relaxed);
}

void RecordDecoder::add_call(ThreadBuffer& thread, int32_t tid, const LoggedCall& call) {
    if (!(call.is_driver ? wanted_.wants_driver(call.callback) : wanted_.wants_runtime(call.callback)))
        return;
    const auto domain = call.is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    append_call(thread, call.is_driver ? Category::cuda_driver : Category::cuda_runtime, call.start, call.end,
                shapes_.call_name(domain, call.callback), call.correlation,
                {tid, shapes_.call(call.callback), {}}, members_with_ids(call));
}

void RecordDecoder::add_synchronization(ThreadBuffer& thread, const CUpti_ActivitySynchronization2& sync) {
    const std::string_view name = synchronization_name(sync.type);
    const int64_t stream = int32_t(sync.streamId);
    const uint32_t device = device_of(sync.contextId);
    base::JsonMembers members;
    members.add("cuda_sync_kind", name);
    if (waits_for_event(sync.type)) {
        const auto event = events_.find(both(sync.contextId, sync.cudaEventId));
        const bool is_known = event != events_.end();
        members.add("wait_on_stream", is_known ? int32_t(event->second.stream) : -1);
        members.add("wait_on_cuda_event_record_corr_id", is_known ? int64_t(event->second.correlation) : -1);
        members.add("wait_on_cuda_event_id", sync.cudaEventId);
    }
    members.add("stream", stream).add("device", device).add("context", sync.contextId);
    const int64_t resource = stream < 0 ? stream : stream + record::first_sync_resource;
    append_work(thread, {sync.start,
                         sync.end,
                         intern(name),
                         Category::cuda_sync,
                         sync.correlationId,
                         {place_of(device, resource), 0, 0, 0},
                         members.text()});
}

// It marks a moment that only newer libraries tell; the others only tell whom to wait for.
void RecordDecoder::add_event(ThreadBuffer& thread, const CUpti_ActivityCudaEvent2& event) {
    if (events_.size() > most_events_known) events_.clear();
    events_[both(event.contextId, event.eventId)] = {event.streamId, event.correlationId};
    if (event.deviceTimestamp == 0) return;
    base::JsonMembers members;
    members.add("event_id", event.eventId).add("stream", event.streamId).add("device", event.deviceId);
    members.add("context", event.contextId);
    append_work(thread,
                {event.deviceTimestamp,
                 event.deviceTimestamp + 1,
                 intern("cudaEvent"),
                 Category::cuda_event,
                 event.correlationId,
                 {place_of(event.deviceId, int64_t(event.streamId) + record::first_sync_resource), 0, 0, 0},
                 members.text()});
}

void RecordDecoder::add_overhead(ThreadBuffer& thread, const CUpti_ActivityOverhead3& overhead) {
    // Of what is no thread's there is nobody on whose time it could be drawn.
    if (overhead.objectKind != CUPTI_ACTIVITY_OBJECT_THREAD) return;
    append_call(thread, Category::overhead, overhead.start, overhead.end,
                intern(overhead_name(overhead.overheadKind)), 0,
                {int32_t(overhead.objectId.pt.threadId), 0, {}});
}

void RecordDecoder::add_compilation(ThreadBuffer& thread, const CUpti_ActivityJit2& jit, size_t bytes) {
    if (!KINETOGRAPH_HAS_FIELD(bytes, CUpti_ActivityJit2, threadId)) return;
    append_call(thread, Category::overhead, jit.start, jit.end,
                intern(compilation_name(jit.jitEntryType, jit.jitOperationType)), 0,
                {int32_t(jit.threadId), 0, {}});
}

void RecordDecoder::add_memory(ThreadBuffer& thread, const ToldMemory& memory) {
    if (memory.time == 0) return;
    const uint64_t now = clock_.ticks(memory.time);
    append_struct(thread,
                  {now, now, intern("[memory]"), RecordKind::device_memory,
                   uint8_t(Category::cpu_instant_event), 0, 0, 0, 0, memory.correlation},
                  &memory.details, sizeof memory.details, {});
}

uint32_t RecordDecoder::device_of(uint32_t context) const {
    const auto known = devices_.find(context);
    return known == devices_.end() ? 0 : known->second;
}

void RecordDecoder::append_work(ThreadBuffer& thread, const Work& work) {
    // Not finished when the buffer was forced out of CUPTI: its times are not known.
    if (work.start == 0 || work.end == 0) {
        unfinished_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const uint64_t start = clock_.ticks(work.start), end = clock_.ticks(work.end);
    last_tick_.store(std::max(last_tick_.load(std::memory_order_relaxed), end), std::memory_order_relaxed);
    append_struct(thread,
                  {start, end, work.name, RecordKind::device_work, uint8_t(work.category), 0, 0, 0, 0,
                   work.correlation},
                  &work.details, sizeof work.details, work.own_members);
}

void RecordDecoder::append_call(ThreadBuffer& thread, Category category, uint64_t start, uint64_t end,
                                uint32_t name, uint32_t correlation, const record::ThreadSpan& details,
                                std::string_view own_members) {
    if (start == 0 || end == 0) return;
    append_struct(thread,
                  {clock_.ticks(start), clock_.ticks(end), name, RecordKind::thread_span, uint8_t(category),
                   0, 0, 0, 0, correlation},
                  &details, sizeof details, own_members);
}

void tell_metadata(ThreadBuffer& thread, std::string_view key, std::string_view json) {
    const uint64_t now = base::ticks();
    record::append_with_payload(thread, {now, now, intern(key), RecordKind::metadata, 0, 0, 0, 0, 0, 0},
                                nullptr, json.data(), json.size());
}

}  // namespace kinetograph::collect::cupti
