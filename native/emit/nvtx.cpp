#include "emit/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>

namespace kinetograph::emit::nvtx {

namespace {

nvtxDomainHandle_t handle(void* domain) {
    return static_cast<nvtxDomainHandle_t>(domain);
}

void set_payload(nvtxEventAttributes_t& event, const Payload& payload) {
    switch (payload.kind) {
        case Payload::Kind::none:
            break;
        case Payload::Kind::signed_integer:
            event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
            event.payload.llValue = payload.signed_integer;
            break;
        case Payload::Kind::unsigned_integer:
            event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
            event.payload.ullValue = payload.unsigned_integer;
            break;
        case Payload::Kind::real:
            event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
            event.payload.dValue = payload.real;
            break;
    }
}

nvtxEventAttributes_t event_of(const Message& message, const Look& look) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.category = look.category;
    event.colorType = look.has_color ? NVTX_COLOR_ARGB : NVTX_COLOR_UNKNOWN;
    event.color = look.color;
    set_payload(event, look.payload);
    if (message.registered) {
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = static_cast<nvtxStringHandle_t>(message.registered);
    } else {
        event.messageType = NVTX_MESSAGE_TYPE_ASCII;
        event.message.ascii = message.text;
    }
    return event;
}

}  // namespace

bool is_built() noexcept {
    return true;
}

bool is_listening() noexcept {
    return tool_function() != nullptr;
}

// Tools take what they like: one of these is among it.
const void* tool_function() noexcept {
    nvtxInitialize(nullptr);
    const nvtxGlobals_t& found = NVTX_VERSIONED_IDENTIFIER(nvtxGlobals);
    const void* functions[] = {reinterpret_cast<const void*>(found.nvtxDomainRangePushEx_impl_fnptr),
                               reinterpret_cast<const void*>(found.nvtxDomainRangeStartEx_impl_fnptr),
                               reinterpret_cast<const void*>(found.nvtxRangePushEx_impl_fnptr),
                               reinterpret_cast<const void*>(found.nvtxRangePushA_impl_fnptr)};
    for (const void* function : functions)
        if (function) return function;
    return nullptr;
}

void* make_domain(const char* name) noexcept {
    return nvtxDomainCreateA(name);
}

void* register_text(void* domain, const char* text) noexcept {
    return nvtxDomainRegisterStringA(handle(domain), text);
}

void name_category(void* domain, uint32_t category, const char* name) noexcept {
    if (domain)
        nvtxDomainNameCategoryA(handle(domain), category, name);
    else
        nvtxNameCategoryA(category, name);
}

void name_thread(uint32_t tid, const char* name) noexcept {
    nvtxNameOsThreadA(tid, name);
}

int push(void* domain, const Message& message, const Look& look) noexcept {
    const nvtxEventAttributes_t event = event_of(message, look);
    return domain ? nvtxDomainRangePushEx(handle(domain), &event) : nvtxRangePushEx(&event);
}

int pop(void* domain) noexcept {
    return domain ? nvtxDomainRangePop(handle(domain)) : nvtxRangePop();
}

uint64_t start(void* domain, const Message& message, const Look& look) noexcept {
    const nvtxEventAttributes_t event = event_of(message, look);
    return domain ? nvtxDomainRangeStartEx(handle(domain), &event) : nvtxRangeStartEx(&event);
}

void end(void* domain, uint64_t range) noexcept {
    if (domain)
        nvtxDomainRangeEnd(handle(domain), range);
    else
        nvtxRangeEnd(range);
}

void mark(void* domain, const Message& message, const Look& look) noexcept {
    const nvtxEventAttributes_t event = event_of(message, look);
    if (domain)
        nvtxDomainMarkEx(handle(domain), &event);
    else
        nvtxMarkEx(&event);
}

uint64_t make_counter(void* domain, const char* name) noexcept {
    nvtxCounterAttr_t counter{};
    counter.structSize = sizeof counter;
    counter.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    counter.name = name;
    counter.scopeId = NVTX_SCOPE_CURRENT_SW_PROCESS;
    counter.counterId = NVTX_COUNTER_ID_NONE;
    return nvtxCounterRegister(handle(domain), &counter);
}

void set_counter(void* domain, uint64_t counter, double value) noexcept {
    nvtxCounterSampleFloat64(handle(domain), counter, value);
}

}  // namespace kinetograph::emit::nvtx
