#include "collect/cupti/launch_log.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/clock.h"

namespace kinetograph::collect::cupti {

namespace {

// Those of the runtime are made of these.
constexpr uint32_t launches[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                                 CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                                 CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

// For launches of other threads, each of which takes some milliseconds.
constexpr std::chrono::seconds patience{10};

// Whatever CUPTI launches itself while it works for us is none of the program's.
thread_local bool is_inside = false;

bool is_launch(uint32_t callback) {
    return std::find(std::begin(launches), std::end(launches), callback) != std::end(launches);
}

bool has_succeeded(const CUpti_CallbackData& call) {
    return call.functionReturnValue &&
           *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS;
}

bool is_graph(uint32_t callback) {
    return callback == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
           callback == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

CUstream stream_of(uint32_t callback, const void* params) {
    const bool is_ex = callback == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
                       callback == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz;
    const bool per_thread = callback == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz ||
                            callback == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz ||
                            callback == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
    // Up to the stream, those of a cooperative launch are the same.
    const CUstream stream = is_ex ? static_cast<const cuLaunchKernelEx_params*>(params)->config->hStream
                                  : static_cast<const cuLaunchKernel_params*>(params)->hStream;
    return stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
}

// Then it becomes a part of a graph, and nothing runs.
bool is_captured(const Driver& driver, uint32_t callback, const CUpti_CallbackData& call) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!driver.is_capturing || !call.functionParams || is_graph(callback)) return false;
    return driver.is_capturing(stream_of(callback, call.functionParams), &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

void LaunchLog::watch(const Cupti& cupti, CUpti_SubscriberHandle subscriber) {
    for (const uint32_t launch : launches)
        cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launch);
}

void LaunchLog::start(const Driver& driver, Batch batch) {
    std::lock_guard lock(mutex_);
    launches_.clear();
    under_way_ = 0;
    batch_ = std::move(batch);
    driver_ = &driver;
}

std::vector<Launch> LaunchLog::stop() {
    std::lock_guard lock(mutex_);
    driver_ = nullptr;
    batch_ = {};
    idle_.notify_all();
    return std::exchange(launches_, {});
}

void LaunchLog::see(uint32_t callback, const CUpti_CallbackData& call) {
    if (is_inside || !call.correlationData || !is_launch(callback)) return;
    is_inside = true;
    {
        std::unique_lock lock(mutex_);
        if (call.callbackSite == CUPTI_API_ENTER)
            begin(lock, callback, call);
        else
            end(call);
    }
    is_inside = false;
}

void LaunchLog::begin(std::unique_lock<std::mutex>& lock, uint32_t callback, const CUpti_CallbackData& call) {
    *call.correlationData = 0;
    if (!driver_ || is_captured(*driver_, callback, call)) return;
    hand_over_when_full(lock);
    if (!driver_) return;
    ++under_way_;
    *call.correlationData = base::ticks();
}

void LaunchLog::hand_over_when_full(std::unique_lock<std::mutex>& lock) {
    if (launches_.size() < batch_.size) return;
    idle_.wait_for(lock, patience, [this] { return under_way_ == 0 || !driver_; });
    if (!driver_ || launches_.size() < batch_.size) return;
    // One that hangs, perhaps because it waits for us: better that the rest is not counted.
    if (under_way_ != 0)
        batch_.size = SIZE_MAX;
    else
        batch_.when_full(std::exchange(launches_, {}));
}

void LaunchLog::end(const CUpti_CallbackData& call) {
    const uint64_t start = *call.correlationData;
    if (!driver_ || start == 0) return;
    if (under_way_ != 0) --under_way_;
    if (under_way_ == 0) idle_.notify_all();
    if (has_succeeded(call))
        launches_.push_back(
            {call.symbolName ? call.symbolName : "CUDA graph", call.context, start, base::ticks()});
}

}  // namespace kinetograph::collect::cupti
