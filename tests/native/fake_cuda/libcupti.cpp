// The fake CUPTI: what a client asks of it. What it records is in program.cpp.
#include "libcupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <map>
#include <set>
#include <string>

#include "fake_cuda.h"

namespace fake {

std::recursive_mutex mutex;
Client client;

namespace {

uint32_t version = 130001;
std::map<std::string, int> failures;
std::set<uint32_t> enabled, were_enabled;
std::set<uint32_t> driver_calls;                                // that are recorded, also without their kind
CUpti_ActivityKind refused_kind = CUPTI_ACTIVITY_KIND_INVALID;  // 0
std::set<std::pair<int, uint32_t>> called_back;
std::set<int> domains;
int finalizations = 0, flushes = 0, calls_before_driver = 0;

uint32_t version_from_environment() {
    const char* text = getenv("FAKE_CUPTI_VERSION");
    return text ? uint32_t(atoi(text)) : 130001;
}

// "cuptiSubscribe=39"
void read_failure() {
    const char* text = getenv("FAKE_CUPTI_FAIL");
    const char* equals = text ? strchr(text, '=') : nullptr;
    if (equals) failures[std::string(text, size_t(equals - text))] = atoi(equals + 1);
}

const int loaded = [] {
    version = version_from_environment();
    read_failure();
    fake_set_on_call(&see_driver_call);
    return 1;
}();

}  // namespace

CUptiResult enter(const char* function) {
    int devices = 0;
    if (cuDeviceGetCount(&devices) != CUDA_SUCCESS) ++calls_before_driver;
    const auto failure = failures.find(function);
    return failure == failures.end() ? CUPTI_SUCCESS : CUptiResult(failure->second);
}

void die(const char* why) {
    fprintf(stderr, "the fake CUPTI: %s\n", why);
    abort();
}

bool is_enabled(uint32_t kind) {
    return enabled.count(kind) != 0;
}

bool records_call(bool is_driver, uint32_t callback) {
    return is_enabled(is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME) ||
           (is_driver && driver_calls.count(callback) != 0);
}

bool calls_back(CUpti_CallbackDomain domain, uint32_t callback) {
    return client.callback && (domains.count(domain) != 0 || called_back.count({domain, callback}) != 0);
}

uint64_t now() {
    if (client.timestamp) return client.timestamp();
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return uint64_t(time.tv_sec) * 1000000000U + uint64_t(time.tv_nsec);
}

uint32_t pretended_version() {
    return version;
}

}  // namespace fake

CUPTI_FAKE cuptiGetVersion(uint32_t* version) {
    ENTER("cuptiGetVersion");
    *version = fake::version;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiGetResultString(CUptiResult result, const char** text) {
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "CUPTI_ERROR_FAKE";
    return CUPTI_SUCCESS;
}

// Only those that tests use.
CUPTI_FAKE cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t callback, const char** name) {
    static const std::map<std::pair<int, uint32_t>, const char*> names = {
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
         "cudaLaunchKernel_v7000"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020}, "cudaGetDevice_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020},
         "cudaMemcpyAsync_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000},
         "cudaMemcpyPeerAsync_v4000"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020},
         "cudaMemsetAsync_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020}, "cudaMalloc_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020}, "cudaFree_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000},
         "cudaGraphLaunch_v10000"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020},
         "cudaStreamSynchronize_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020},
         "cudaStreamWaitEvent_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020},
         "cudaEventRecord_v3020"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000},
         "cudaStreamBeginCapture_v10000"},
        {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000},
         "cudaStreamEndCapture_v10000"},
        {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel}, "cuLaunchKernel"},
        {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent}, "cuCtxGetCurrent"},
        {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize}, "cuCtxSynchronize"},
    };
    const auto found = names.find({domain, callback});
    if (found == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found->second;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data) {
    ENTER("cuptiSubscribe");
    if (fake::client.callback) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    fake::client.callback = callback;
    fake::client.data = data;
    fake::were_enabled.clear();
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&fake::client);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiUnsubscribe(CUpti_SubscriberHandle) {
    ENTER("cuptiUnsubscribe");
    if (fake::samples_anything()) fake::die("unsubscribed while counters are sampled");
    fake::client.callback = nullptr;
    fake::domains.clear();
    fake::called_back.clear();
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                               CUpti_CallbackId callback) {
    ENTER("cuptiEnableCallback");
    if (!fake::client.callback) return CUPTI_ERROR_INVALID_PARAMETER;
    if (enable)
        fake::called_back.insert({domain, callback});
    else
        fake::called_back.erase({domain, callback});
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
    ENTER("cuptiEnableDomain");
    if (!fake::client.callback) return CUPTI_ERROR_INVALID_PARAMETER;
    if (enable)
        fake::domains.insert(domain);
    else
        fake::domains.erase(domain);
    if (!enable) std::erase_if(fake::called_back, [&](const auto& each) { return each.first == domain; });
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiFinalize(void) {
    ENTER("cuptiFinalize");
    if (fake::samples_anything()) fake::die("finalized while counters are sampled");
    ++fake::finalizations;
    fake::complete_buffer();
    fake::client = {};
    fake::enabled.clear();
    fake::driver_calls.clear();
    fake::domains.clear();
    fake::called_back.clear();
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                          CUpti_BuffersCallbackCompleteFunc complete) {
    ENTER("cuptiActivityRegisterCallbacks");
    fake::client.request = request;
    fake::client.complete = complete;
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityEnable(CUpti_ActivityKind kind) {
    ENTER("cuptiActivityEnable");
    if (kind == fake::refused_kind) return CUPTI_ERROR_NOT_SUPPORTED;
    fake::enabled.insert(kind);
    fake::were_enabled.insert(kind);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityDisable(CUpti_ActivityKind kind) {
    ENTER("cuptiActivityDisable");
    fake::enabled.erase(kind);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityEnableDriverApi(CUpti_CallbackId callback, uint8_t enable) {
    ENTER("cuptiActivityEnableDriverApi");
    if (fake::refused_kind == CUPTI_ACTIVITY_KIND_DRIVER) return CUPTI_ERROR_NOT_SUPPORTED;
    if (enable)
        fake::driver_calls.insert(callback);
    else
        fake::driver_calls.erase(callback);
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityFlushAll(uint32_t) {
    ENTER("cuptiActivityFlushAll");
    ++fake::flushes;
    fake::complete_buffer();
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
    ENTER("cuptiActivitySetAttribute");
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
    ENTER("cuptiActivityGetNextRecord");
    return fake::next_record(buffer, valid, record);
}

CUPTI_FAKE cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
    ENTER("cuptiActivityGetNumDroppedRecords");
    *dropped = fake::take_dropped();
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiSetThreadIdType(CUpti_ActivityThreadIdType) {
    ENTER("cuptiSetThreadIdType");
    return CUPTI_SUCCESS;
}

CUPTI_FAKE cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
    ENTER("cuptiActivityRegisterTimestampCallback");
    fake::client.timestamp = timestamp;
    return CUPTI_SUCCESS;
}

void fake_set_version(uint32_t version) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    fake::version = version;
}

void fake_fail(const char* function, int result) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    if (result)
        fake::failures[function] = result;
    else
        fake::failures.erase(function);
}

int fake_is_subscribed(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::client.callback != nullptr;
}

int fake_finalizations(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::finalizations;
}

int fake_flushes(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::flushes;
}

void fake_refuse_kind(uint32_t kind) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    fake::refused_kind = CUpti_ActivityKind(kind);
}

int fake_is_enabled(uint32_t kind) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::is_enabled(kind);
}

int fake_driver_calls(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return int(fake::driver_calls.size());
}

int fake_was_enabled(uint32_t kind) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::were_enabled.count(kind) != 0;
}

int fake_calls_back(int is_driver, uint32_t callback) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::calls_back(is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, callback);
}

int fake_calls_before_driver(void) {
    std::lock_guard<std::recursive_mutex> lock(fake::mutex);
    return fake::calls_before_driver;
}
