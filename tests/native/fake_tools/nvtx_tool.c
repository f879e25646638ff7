/* An NVTX tool for tests: writes down what programs tell it. NVTX loads it by NVTX_INJECTION64_PATH. */
#include "log.h"

#include <string.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>

/* Handles are texts of ours. */
static const char* name_of(const void* handle) {
    return handle ? (const char*)handle : "";
}

static void log_event(const char* call, const void* domain, const nvtxEventAttributes_t* event,
                      uint64_t range) {
    char payload[64] = "null";
    const int is_registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
    if (event->payloadType == NVTX_PAYLOAD_TYPE_INT64)
        snprintf(payload, sizeof payload, "%lld", (long long)event->payload.llValue);
    if (event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
        snprintf(payload, sizeof payload, "%llu", (unsigned long long)event->payload.ullValue);
    if (event->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE)
        snprintf(payload, sizeof payload, "%.17g", event->payload.dValue);
    log_call(call,
             "\"domain\":\"%s\",\"text\":\"%s\",\"is_registered\":%d,\"color\":%lld,\"category\":%u,"
             "\"payload\":%s,\"range\":%llu",
             name_of(domain),
             is_registered ? (const char*)event->message.registered : name_of(event->message.ascii),
             is_registered, event->colorType == NVTX_COLOR_ARGB ? (long long)event->color : -1LL,
             event->category, payload, (unsigned long long)range);
}

/* Levels as NVTX counts them: of the thread, here of all its domains. */
static __thread int depth;
static uint64_t last_range;

static int push_in(const void* domain, const nvtxEventAttributes_t* event) {
    log_event("push", domain, event, 0);
    return depth++;
}
static int pop_in(const void* domain) {
    log_call("pop", "\"domain\":\"%s\"", name_of(domain));
    return --depth;
}
static uint64_t start_in(const void* domain, const nvtxEventAttributes_t* event) {
    const uint64_t range = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
    log_event("start", domain, event, range);
    return range;
}
static void end_in(const void* domain, uint64_t range) {
    log_call("end", "\"domain\":\"%s\",\"range\":%llu", name_of(domain), (unsigned long long)range);
}
static void name_category_in(const void* domain, uint32_t category, const char* name) {
    log_call("name_category", "\"domain\":\"%s\",\"category\":%u,\"text\":\"%s\"", name_of(domain), category,
             name);
}

static void mark(const nvtxEventAttributes_t* event) {
    log_event("mark", NULL, event, 0);
}
static int push(const nvtxEventAttributes_t* event) {
    return push_in(NULL, event);
}
static int pop(void) {
    return pop_in(NULL);
}
static nvtxRangeId_t start(const nvtxEventAttributes_t* event) {
    return start_in(NULL, event);
}
static void end(nvtxRangeId_t range) {
    end_in(NULL, range);
}
static void name_category(uint32_t category, const char* name) {
    name_category_in(NULL, category, name);
}
static void name_thread(uint32_t tid, const char* name) {
    log_call("name_thread", "\"thread\":%u,\"text\":\"%s\"", tid, name);
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    log_event("mark", domain, event, 0);
}
static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    return push_in(domain, event);
}
static int domain_pop(nvtxDomainHandle_t domain) {
    return pop_in(domain);
}
static nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    return start_in(domain, event);
}
static void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
    end_in(domain, range);
}
static void domain_name_category(nvtxDomainHandle_t domain, uint32_t category, const char* name) {
    name_category_in(domain, category, name);
}
static nvtxStringHandle_t domain_register(nvtxDomainHandle_t domain, const char* text) {
    log_call("register", "\"domain\":\"%s\",\"text\":\"%s\"", name_of(domain), text);
    return (nvtxStringHandle_t)strdup(text);
}
static nvtxDomainHandle_t domain_create(const char* name) {
    log_call("domain", "\"text\":\"%s\"", name);
    return (nvtxDomainHandle_t)strdup(name);
}

static uint64_t register_counter(nvtxDomainHandle_t domain, const nvtxCounterAttr_t* counter) {
    log_call("register_counter", "\"domain\":\"%s\",\"text\":\"%s\",\"type\":%llu", name_of(domain),
             counter->name, (unsigned long long)counter->schemaId);
    return (uint64_t)(uintptr_t)strdup(counter->name);
}
static void sample_counter(nvtxDomainHandle_t domain, uint64_t counter, double value) {
    log_call("sample", "\"domain\":\"%s\",\"text\":\"%s\",\"value\":%.17g", name_of(domain),
             (const char*)(uintptr_t)counter, value);
}

#define SET(table, id, function) (*(table)[id] = (NvtxFunctionPointer)(function))

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const NvtxExportTableCallbacks* callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable core, domains;
    unsigned size;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size) ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &size))
        return 0;
    log_call("initialize", "");
    SET(core, NVTX_CBID_CORE_MarkEx, mark);
    SET(core, NVTX_CBID_CORE_RangePushEx, push);
    SET(core, NVTX_CBID_CORE_RangePop, pop);
    SET(core, NVTX_CBID_CORE_RangeStartEx, start);
    SET(core, NVTX_CBID_CORE_RangeEnd, end);
    SET(core, NVTX_CBID_CORE_NameCategoryA, name_category);
    SET(core, NVTX_CBID_CORE_NameOsThreadA, name_thread);
    SET(domains, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
    SET(domains, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
    SET(domains, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
    SET(domains, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
    SET(domains, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
    SET(domains, NVTX_CBID_CORE2_DomainNameCategoryA, domain_name_category);
    SET(domains, NVTX_CBID_CORE2_DomainRegisterStringA, domain_register);
    SET(domains, NVTX_CBID_CORE2_DomainCreateA, domain_create);
    return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
    if (module->moduleId == NVTX_EXT_COUNTERS_MODULEID) {
        intptr_t* slots = module->segments[0].functionSlots;
        slots[NVTX3EXT_CBID_nvtxCounterRegister] = (intptr_t)register_counter;
        slots[NVTX3EXT_CBID_nvtxCounterSampleFloat64] = (intptr_t)sample_counter;
    }
    return 1;
}
