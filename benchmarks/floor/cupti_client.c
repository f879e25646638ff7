/* The least that recording CUDA costs: CUPTI with kernels on, and calls if asked for, our clock, and buffers
 * thrown away. Opened by benchmarks/floor/cupti.py; libcupti is the one that torch has loaded. */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define BUFFER_BYTES (1 << 20)
#define API __attribute__((visibility("default")))

static uint8_t* spare[64];
static int spares = 0;

static uint64_t CUPTIAPI timestamp(void) {
    return __rdtsc();
}

static void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most) {
    *buffer = spares ? spare[--spares] : aligned_alloc(64, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                              size_t valid) {
    (void)context, (void)stream, (void)size, (void)valid;
    if (spares < 64)
        spare[spares++] = buffer;
    else
        free(buffer);
}

/* A launch in so few bytes and places that they stay in a cache. The driver's takes the place of the
 * runtime's that it is made for, at the same cost. */
enum { launches_kept = 1024 };
static __thread struct {
    uint64_t start, end;
    uint32_t correlation;
} launches[launches_kept];
static __thread uint32_t launched;

static void CUPTIAPI on_launch(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                               const void* info) {
    (void)data, (void)domain, (void)id;
    const CUpti_CallbackData* call = info;
    const uint32_t at = launched % launches_kept;
    if (call->callbackSite == CUPTI_API_ENTER) {
        launches[at].start = timestamp();
        launches[at].correlation = call->correlationId;
    } else {
        launches[at].end = timestamp();
        ++launched;
    }
}

#define CALL(name) ((__typeof__(&name))dlsym(cupti, #name))
static CUpti_SubscriberHandle subscriber;
static void* cupti;

/* What ties a kernel to its launch, whoever launches: torch by the runtime, others by the driver. */
static CUptiResult watch_launches(void) {
    const struct {
        CUpti_CallbackDomain domain;
        CUpti_CallbackId id;
    } wanted[] = {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
                  {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
                  {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
                  {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx}};
    CUptiResult result = CUPTI_SUCCESS;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CUPTI_SUCCESS; ++i)
        result = CALL(cuptiEnableCallback)(1, subscriber, wanted[i].domain, wanted[i].id);
    return result;
}

/* 0, the error of CUPTI, or -1 where there is none in this process. */
API int floor_start(int with_runtime_calls, int with_driver_calls, int with_launches) {
    if (!cupti) cupti = dlopen("libcupti.so.13", RTLD_NOLOAD | RTLD_LAZY);
    if (!cupti) return -1;
    const CUptiResult result = CALL(cuptiSubscribe)(&subscriber, on_launch, NULL);
    if (result != CUPTI_SUCCESS) return result;
    CALL(cuptiActivityRegisterCallbacks)(request, complete);
    CALL(cuptiActivityRegisterTimestampCallback)(timestamp);
    CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (with_runtime_calls) CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_RUNTIME);
    if (with_driver_calls) CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_DRIVER);
    return with_launches ? watch_launches() : CUPTI_SUCCESS;
}

API void floor_stop(void) {
    CALL(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CALL(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_RUNTIME);
    CALL(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_DRIVER);
    CALL(cuptiActivityFlushAll)(1);
    CALL(cuptiUnsubscribe)(subscriber);
    CALL(cuptiFinalize)();
}
