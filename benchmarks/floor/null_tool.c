/* A tool for NVTX and ITT that counts what it is told and does nothing else: what is left is the cost of
 * telling. */
#include <stdint.h>
#include <stdlib.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

static uint64_t told;

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    return (int)++told;
}
static int pop(nvtxDomainHandle_t domain) {
    return (int)++told;
}
static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* text) {
    return (nvtxStringHandle_t)&told;
}
static nvtxDomainHandle_t create_domain(const char* name) {
    return (nvtxDomainHandle_t)&told;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const NvtxExportTableCallbacks* callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable domains;
    unsigned size;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &size)) return 0;
    *domains[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *domains[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    *domains[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
    *domains[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    return 1;
}

/* An ITT collector of the old kind, whose functions are looked up by name. */
typedef struct {
    uint64_t parts[3];
} Id;
static struct {
    int flags;
    void* rest[5];
} domain = {1, {0}};

__attribute__((visibility("default"))) void* __itt_domain_create(const char* name) {
    return &domain;
}
__attribute__((visibility("default"))) void* __itt_string_handle_create(const char* text) {
    return &domain;
}
__attribute__((visibility("default"))) void __itt_task_begin(void* domain, Id task, Id parent, void* name) {
    ++told;
}
__attribute__((visibility("default"))) void __itt_task_end(void* domain) {
    ++told;
}
