/* Loops in C, without Python: ranges by NVTX, and the same told to the C table of our recorder itself. */
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>

#include <kinetograph/record_abi.h>

#define EXPORTED __attribute__((visibility("default")))

static const kinetograph_record_table* table;
static uint32_t name;
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered = {.version = NVTX_VERSION,
                                           .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                           .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
/* As each range of PyPI's nvtx is. */
static nvtxEventAttributes_t coloured = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                         .colorType = NVTX_COLOR_ARGB,
                                         .color = 0xff0000ff,
                                         .category = 1};

/* The table of the recorder in this process; 0 where it is another than the one this was built for. */
EXPORTED int prepare(const kinetograph_record_table* (*table_for)(uint32_t)) {
    table = table_for(KINETOGRAPH_RECORD_ABI);
    if (!table) return 0;
    name = table->intern("x", 1);
    domain = nvtxDomainCreateA("benchmark");
    nvtxDomainNameCategoryA(domain, 1, "io");
    registered.message.registered = coloured.message.registered = nvtxDomainRegisterStringA(domain, "x");
    return 1;
}

/* A call for each turn, as the others make. */
__attribute__((noinline)) static void nothing(void) {
    __asm__ volatile("");
}

EXPORTED void empty(int count) {
    for (int i = 0; i < count; ++i) nothing();
}
EXPORTED void begin_end(int count) {
    for (int i = 0; i < count; ++i) {
        table->begin(name, 1, 7); /* an annotation of the program */
        table->end(name);
    }
}
EXPORTED void push_pop(int count) {
    for (int i = 0; i < count; ++i) {
        nvtxRangePushA("x");
        nvtxRangePop();
    }
}
EXPORTED void push_pop_registered(int count) {
    for (int i = 0; i < count; ++i) {
        nvtxDomainRangePushEx(domain, &registered);
        nvtxDomainRangePop(domain);
    }
}
EXPORTED void push_pop_coloured(int count) {
    for (int i = 0; i < count; ++i) {
        nvtxDomainRangePushEx(domain, &coloured);
        nvtxDomainRangePop(domain);
    }
}
