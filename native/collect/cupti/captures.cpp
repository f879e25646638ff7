#include "collect/cupti/captures.h"

#include <algorithm>

namespace kinetograph::collect::cupti {

namespace {

constexpr uint32_t runtime_begins[] = {CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000,
                                       CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_ptsz_v10000,
                                       CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCaptureToGraph_v12030,
                                       CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCaptureToGraph_ptsz_v12030};
constexpr uint32_t driver_begins[] = {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
                                      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
                                      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
                                      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
                                      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
                                      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz};
// A stream that is destroyed is no longer captured, either.
constexpr uint32_t runtime_ends[] = {CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000,
                                     CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_ptsz_v10000,
                                     CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v3020,
                                     CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v5050};
constexpr uint32_t driver_ends[] = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2};

template <size_t count>
bool holds(const uint32_t (&list)[count], uint32_t wanted) {
    return std::find(list, list + count, wanted) != list + count;
}

// cudaError_t and CUresult are both an int, and 0 is success.
bool has_succeeded(const CUpti_CallbackData& call) {
    return call.functionReturnValue && *static_cast<const int*>(call.functionReturnValue) == 0;
}

// The first parameter of all of them. Of those that may be captured only that of the thread itself can be
// said by 0; it has one name in all threads, and another here in each.
CUstream stream_of(const CUpti_CallbackData& call) {
    static thread_local char of_thread;
    const CUstream stream =
        call.functionParams ? *static_cast<const CUstream*>(call.functionParams) : nullptr;
    return stream && stream != CU_STREAM_PER_THREAD ? stream : reinterpret_cast<CUstream>(&of_thread);
}

}  // namespace

void Captures::watch(const Cupti& cupti, CUpti_SubscriberHandle subscriber) {
    const auto watch = [&](CUpti_CallbackDomain domain, const auto& callbacks) {
        for (const uint32_t callback : callbacks) cupti.enable_callback(1, subscriber, domain, callback);
    };
    watch(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_begins);
    watch(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_ends);
    watch(CUPTI_CB_DOMAIN_DRIVER_API, driver_begins);
    watch(CUPTI_CB_DOMAIN_DRIVER_API, driver_ends);
}

// The runtime's calls are made of the driver's: most are seen twice, and count once.
void Captures::see(CUpti_CallbackDomain domain, uint32_t callback, const CUpti_CallbackData& call) noexcept {
    const bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
    if (is_driver ? holds(driver_begins, callback) : holds(runtime_begins, callback)) {
        if (has_succeeded(call)) add(stream_of(call));
    } else if (is_driver ? holds(driver_ends, callback) : holds(runtime_ends, callback)) {
        remove(stream_of(call));
    }
}

bool Captures::is_any_under_way() const noexcept {
    return std::any_of(streams_.begin(), streams_.end(), [](const std::atomic<CUstream>& stream) {
        return stream.load(std::memory_order_relaxed) != nullptr;
    });
}

void Captures::forget() noexcept {
    for (std::atomic<CUstream>& stream : streams_) stream.store(nullptr, std::memory_order_relaxed);
}

// One that a stream still has in the list was destroyed without our seeing it.
void Captures::add(CUstream stream) noexcept {
    remove(stream);
    for (std::atomic<CUstream>& place : streams_) {
        CUstream free = nullptr;
        if (place.compare_exchange_strong(free, stream, std::memory_order_relaxed)) return;
    }
}

void Captures::remove(CUstream stream) noexcept {
    for (std::atomic<CUstream>& place : streams_) {
        CUstream held = stream;
        place.compare_exchange_strong(held, nullptr, std::memory_order_relaxed);
    }
}

}  // namespace kinetograph::collect::cupti
