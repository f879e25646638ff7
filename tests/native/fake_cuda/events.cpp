// Events and streams of the fake driver. The device has a clock of its own, which began at another time than
// ours.
#include <cuda.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "fake_cuda.h"
#include "libcuda.h"

namespace {

struct Event {
    CUcontext context = nullptr;
    uint64_t time_ns = 0;
    bool is_recorded = false;
    bool is_held = false;
};

constexpr uint64_t clock_offset_ns = 123'456'789'000;

std::mutex mutex;
std::map<CUevent, Event> events;
std::map<CUstream, CUcontext> streams;
uintptr_t next_handle = 0x10000;
uintptr_t captured = 0;
uint64_t busy_until_ns = 0;
bool holds = false;
int calls = 0;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

uint64_t device_time() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return uint64_t(time.tv_sec) * 1000000000U + uint64_t(time.tv_nsec) + clock_offset_ns;
}

bool has_happened(const Event& event) {
    return !event.is_held && device_time() >= event.time_ns;
}

void wait_for(uint64_t time_ns) {
    for (uint64_t now = device_time(); now < time_ns; now = device_time()) {
        const timespec rest = {time_t((time_ns - now) / 1000000000U), long((time_ns - now) % 1000000000U)};
        nanosleep(&rest, nullptr);
    }
}

// The event, if it can be used here.
Event* usable(CUevent handle) {
    // As the real driver does, over what was in a device that the program has reset.
    if (fake::is_reset()) abort();
    const auto found = events.find(handle);
    const bool is_here = found != events.end() && found->second.context == fake::current_context() &&
                         !fake::is_destroyed(found->second.context);
    return is_here ? &found->second : nullptr;
}

// As the real one: what might wait for the device is refused while a stream is captured, unless asked for.
bool is_unsafe() {
    return captured != 0 && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

}  // namespace

void fake::forget_context(CUcontext context) {
    std::lock_guard lock(mutex);
    std::erase_if(events, [&](const auto& each) { return each.second.context == context; });
    std::erase_if(streams, [&](const auto& each) { return each.second == context; });
}

#define CUDA_FAKE extern "C" __attribute__((visibility("default"))) CUresult

CUDA_FAKE cuEventCreate(CUevent* event, unsigned) {
    std::lock_guard lock(mutex);
    ++calls;
    if (fake::is_destroyed(fake::current_context())) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *event = reinterpret_cast<CUevent>(next_handle += 0x100);
    events[*event].context = fake::current_context();
    return CUDA_SUCCESS;
}

CUDA_FAKE cuEventDestroy_v2(CUevent event) {
    std::lock_guard lock(mutex);
    return events.erase(event) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_FAKE cuEventRecord(CUevent handle, CUstream stream) {
    std::lock_guard lock(mutex);
    ++calls;
    Event* event = usable(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (captured != 0 && uintptr_t(stream) == captured) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    // Nothing else runs on the streams that were made here.
    const bool is_idle = streams.count(stream) != 0;
    event->time_ns = is_idle ? device_time() : std::max(device_time(), busy_until_ns);
    event->is_recorded = true;
    event->is_held = holds;
    return CUDA_SUCCESS;
}

CUDA_FAKE cuEventSynchronize(CUevent handle) {
    uint64_t time_ns = 0;
    {
        std::lock_guard lock(mutex);
        Event* event = usable(handle);
        if (!event) return CUDA_ERROR_INVALID_HANDLE;
        if (is_unsafe()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        event->is_held = false;
        time_ns = event->time_ns;
    }
    wait_for(time_ns);
    return CUDA_SUCCESS;
}

CUDA_FAKE cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
    std::lock_guard lock(mutex);
    const Event *first = usable(begin), *last = usable(end);
    if (!first || !last || !first->is_recorded || !last->is_recorded) return CUDA_ERROR_INVALID_HANDLE;
    if (is_unsafe()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!has_happened(*first) || !has_happened(*last)) return CUDA_ERROR_NOT_READY;
    *ms = float(double(int64_t(last->time_ns - first->time_ns)) / 1e6);
    return CUDA_SUCCESS;
}

CUDA_FAKE cuStreamCreate(CUstream* stream, unsigned) {
    std::lock_guard lock(mutex);
    if (is_unsafe()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    *stream = reinterpret_cast<CUstream>(next_handle += 0x100);
    streams[*stream] = fake::current_context();
    return CUDA_SUCCESS;
}

CUDA_FAKE cuStreamDestroy_v2(CUstream stream) {
    std::lock_guard lock(mutex);
    return streams.erase(stream) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_FAKE cuStreamGetId(CUstream stream, unsigned long long* id) {
    *id = uintptr_t(stream);
    return CUDA_SUCCESS;
}

CUDA_FAKE cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    std::lock_guard lock(mutex);
    const bool is_captured =
        stream == fake_captured_stream || (captured != 0 && uintptr_t(stream) == captured);
    *status = is_captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    int devices = 0;
    return cuDeviceGetCount(&devices);
}

CUDA_FAKE cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    const CUstreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

void fake_capture_stream(uintptr_t stream) {
    std::lock_guard lock(mutex);
    captured = stream;
}

void fake_work(uint64_t ns) {
    std::lock_guard lock(mutex);
    busy_until_ns = std::max(device_time(), busy_until_ns) + ns;
}

void fake_hold_events(int hold) {
    std::lock_guard lock(mutex);
    holds = hold != 0;
}

int fake_events(void) {
    std::lock_guard lock(mutex);
    return int(events.size());
}

int fake_streams(void) {
    std::lock_guard lock(mutex);
    return int(streams.size());
}

int fake_event_calls(void) {
    std::lock_guard lock(mutex);
    return calls;
}
