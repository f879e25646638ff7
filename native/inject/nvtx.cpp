// The NVTX injection: every library that annotates itself with NVTX loads us at its first call, because
// NVTX_INJECTION64_PATH names us, and hands over a table of its functions to be filled.
//
// Handlers run in whatever thread annotates, without the GIL, and let no exception out.
#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_members.h"
#include "inject/clients.h"
#include "inject/events.h"
#include "inject/names.h"
#include "inject/nested_ranges.h"
#include "inject/nvtx_domains.h"
#include "inject/nvtx_payload.h"
#include "inject/process.h"
#include "inject/record_table.h"
#include "inject/text.h"
#include "inject/thread_state.h"
#include "inject/torch_names.h"

namespace kinetograph::inject {

namespace {

using Attributes = const nvtxEventAttributes_t*;

// What it says of an event, and what it calls it.
std::string add_payload(const Domain& domain, const nvtxEventAttributes_t& event,
                        base::JsonMembers& members) {
    switch (event.payloadType) {
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
            members.add("payload", event.payload.ullValue);
            break;
        case NVTX_PAYLOAD_TYPE_INT64:
            members.add("payload", event.payload.llValue);
            break;
        case NVTX_PAYLOAD_TYPE_DOUBLE:
            members.add("payload", event.payload.dValue);
            break;
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
            members.add("payload", event.payload.uiValue);
            break;
        case NVTX_PAYLOAD_TYPE_INT32:
            members.add("payload", event.payload.iValue);
            break;
        case NVTX_PAYLOAD_TYPE_FLOAT:
            members.add("payload", event.payload.fValue);
            break;
        case NVTX_PAYLOAD_TYPE_EXT: {
            const auto* payloads = reinterpret_cast<const nvtxPayloadData_t*>(event.payload.ullValue);
            DecodedPayload decoded = decode_payloads(domain, payloads, size_t(std::max(event.reserved0, 0)));
            members.add_json("payload", decoded.json);
            return std::move(decoded.message);
        }
        default:
            break;
    }
    return {};
}

bool has_args(const nvtxEventAttributes_t& event) {
    return event.category != 0 || event.colorType == NVTX_COLOR_ARGB ||
           event.payloadType != NVTX_PAYLOAD_UNKNOWN;
}

uint32_t message_of(const Domain& domain, const nvtxEventAttributes_t& event) {
    switch (event.messageType) {
        case NVTX_MESSAGE_TYPE_ASCII:
            return name_id(domain, text_of(event.message.ascii));
        case NVTX_MESSAGE_TYPE_UNICODE:
            return name_id(domain, utf8(event.message.unicode));
        case NVTX_MESSAGE_TYPE_REGISTERED:
            return event.message.registered ? name_of(event.message.registered)->id() : name_id(domain, "");
        default:
            return name_id(domain, "");
    }
}

Look look_of(const nvtxEventAttributes_t& event) {
    const bool has_colour = event.colorType == NVTX_COLOR_ARGB;
    return {event.category, has_colour, has_colour ? event.color : 0};
}

// PyPI's nvtx says "" where a program says nothing.
bool has_text(const nvtxEventAttributes_t& event) {
    switch (event.messageType) {
        case NVTX_MESSAGE_TYPE_ASCII:
            return !text_of(event.message.ascii).empty();
        case NVTX_MESSAGE_TYPE_UNICODE:
            return event.message.unicode && *event.message.unicode;
        case NVTX_MESSAGE_TYPE_REGISTERED:
            return event.message.registered && !name_of(event.message.registered)->text().empty();
        default:
            return false;
    }
}

Annotation annotation_of(const Domain& domain, const nvtxEventAttributes_t* event) {
    if (!event || event->size < NVTX_EVENT_ATTRIB_STRUCT_SIZE) return {domain, name_id(domain, "")};
    base::JsonMembers members(this_thread().looks.spelled(domain, look_of(*event)));
    const std::string named_inside = add_payload(domain, *event, members);
    const bool has_message = named_inside.empty() || has_text(*event);
    return {domain, has_message ? message_of(domain, *event) : name_id(domain, named_inside), members.take()};
}

uint32_t text_id(const Domain& domain, const char* text) {
    return name_id(domain, text_of(text));
}
uint32_t text_id(const Domain& domain, std::string_view text) {
    return name_id(domain, text);
}
uint32_t text_id(const Domain& domain, const wchar_t* text) {
    return name_id(domain, utf8(text));
}

template <class Text>
Annotation annotation_of(const Domain& domain, Text text) {
    return {domain, text_id(domain, text)};
}

// `What` is how a library says what it annotates.
template <class What>
void mark_in(const Domain& domain, What what) noexcept try {
    if (is_listening()) mark(annotation_of(domain, what));
} catch (...) {
}

int push_annotation(const Domain& domain, Attributes event) {
    const bool is_whole = event && event->size >= NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    if (is_whole && !has_args(*event)) return push_range(domain, message_of(domain, *event));
    return push_range(annotation_of(domain, event));
}
// A text is all there is of it.
template <class Text>
int push_annotation(const Domain& domain, Text text) {
    return push_range(domain, text_id(domain, text));
}

template <class What>
int push_in(const Domain& domain, What what) noexcept try {
    return is_listening() ? push_annotation(domain, what) : push_unrecorded(domain);
} catch (...) {
    return -1;
}

template <class What>
nvtxRangeId_t start_in(const Domain& domain, What what) noexcept try {
    const uint64_t id = next_range_id();
    if (is_listening()) begin_range(id, annotation_of(domain, what));
    return id;
} catch (...) {
    return 0;
}

int pop_in(const Domain& domain) noexcept try { return pop_range(domain); } catch (...) {
    return -1;
}

void end_in(const Domain& domain, nvtxRangeId_t id) noexcept try {
    if (is_listening()) end_range(id, {domain});
} catch (...) {
}

// A null handle is that of the default domain, so that also a domain nobody could make is one.
template <class Text>
nvtxDomainHandle_t create_domain(Text name) noexcept try {
    return handle_of(domain_named(utf8(name)));
} catch (...) {
    return nullptr;
}

template <class Text>
nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, Text text) noexcept try {
    return handle_of(registered_name(domain_of(domain), utf8(text)));
} catch (...) {
    return nullptr;
}

template <class Text>
void name_category(Domain& domain, uint32_t category, Text name) noexcept try {
    domain.name_category(category, utf8(name));
} catch (...) {
}

template <class Text>
void name_os_thread(uint32_t tid, Text name) noexcept try {
    const std::string text = utf8(name);
    recorder->name_thread_by_id(int32_t(tid), text.data(), text.size());
} catch (...) {
}

template <class Handler>
void set(NvtxFunctionTable table, unsigned size, unsigned id, Handler* handler) {
    if (id < size && table[id]) *table[id] = reinterpret_cast<NvtxFunctionPointer>(handler);
}

void fill_core(NvtxFunctionTable table, unsigned size) {
    const auto put = [&](unsigned id, auto* handler) { set(table, size, id, handler); };
    put(NVTX_CBID_CORE_MarkEx, +[](Attributes event) { mark_in(default_domain(), event); });
    put(NVTX_CBID_CORE_MarkA, +[](const char* text) { mark_in(default_domain(), text); });
    put(NVTX_CBID_CORE_MarkW, +[](const wchar_t* text) { mark_in(default_domain(), text); });
    put(NVTX_CBID_CORE_RangeStartEx, +[](Attributes event) { return start_in(default_domain(), event); });
    put(NVTX_CBID_CORE_RangeStartA, +[](const char* text) { return start_in(default_domain(), text); });
    put(NVTX_CBID_CORE_RangeStartW, +[](const wchar_t* text) { return start_in(default_domain(), text); });
    put(NVTX_CBID_CORE_RangeEnd, +[](nvtxRangeId_t id) { end_in(default_domain(), id); });
    put(NVTX_CBID_CORE_RangePushEx, +[](Attributes event) { return push_in(default_domain(), event); });
    put(NVTX_CBID_CORE_RangePushA, +[](const char* text) { return push_in(default_domain(), text); });
    put(NVTX_CBID_CORE_RangePushW, +[](const wchar_t* text) { return push_in(default_domain(), text); });
    put(NVTX_CBID_CORE_RangePop, +[] { return pop_in(default_domain()); });
    put(
        NVTX_CBID_CORE_NameCategoryA,
        +[](uint32_t category, const char* name) { name_category(default_domain(), category, name); });
    put(
        NVTX_CBID_CORE_NameCategoryW,
        +[](uint32_t category, const wchar_t* name) { name_category(default_domain(), category, name); });
    put(NVTX_CBID_CORE_NameOsThreadA, +[](uint32_t tid, const char* name) { name_os_thread(tid, name); });
    put(NVTX_CBID_CORE_NameOsThreadW, +[](uint32_t tid, const wchar_t* name) { name_os_thread(tid, name); });
}

// The observer for torch tells of the same operators, and of more than their names.
std::atomic<bool> has_observer{false};

int push_operator(const char* text) noexcept try {
    const bool is_told = has_observer.load(std::memory_order_relaxed);
    if (is_told || !is_listening()) return push_unrecorded(torch_domain);
    const ToldOperator told = operator_in(text_of(text));
    const int level = push_range(torch_domain, text_id(torch_domain, told.name));
    if (!told.sizes.empty())
        describe_range(torch_domain, base::JsonMembers().add_json("Input Dims", told.sizes).take());
    return level;
} catch (...) {
    return -1;
}

// In place of those that take whatever has no domain.
void fill_torch(NvtxFunctionTable table, unsigned size) {
    const auto put = [&](unsigned id, auto* handler) { set(table, size, id, handler); };
    put(NVTX_CBID_CORE_RangePushA, +push_operator);
    put(NVTX_CBID_CORE_RangePop, +[] { return pop_in(torch_domain); });
}

void fill_domains(NvtxFunctionTable table, unsigned size) {
    const auto put = [&](unsigned id, auto* handler) { set(table, size, id, handler); };
    using Handle = nvtxDomainHandle_t;
    put(
        NVTX_CBID_CORE2_DomainMarkEx,
        +[](Handle domain, Attributes event) { mark_in(domain_of(domain), event); });
    put(
        NVTX_CBID_CORE2_DomainRangeStartEx,
        +[](Handle domain, Attributes event) { return start_in(domain_of(domain), event); });
    put(
        NVTX_CBID_CORE2_DomainRangeEnd,
        +[](Handle domain, nvtxRangeId_t id) { end_in(domain_of(domain), id); });
    put(
        NVTX_CBID_CORE2_DomainRangePushEx,
        +[](Handle domain, Attributes event) { return push_in(domain_of(domain), event); });
    put(NVTX_CBID_CORE2_DomainRangePop, +[](Handle domain) { return pop_in(domain_of(domain)); });
    put(
        NVTX_CBID_CORE2_DomainNameCategoryA, +[](Handle domain, uint32_t category, const char* name) {
            name_category(domain_of(domain), category, name);
        });
    put(
        NVTX_CBID_CORE2_DomainNameCategoryW, +[](Handle domain, uint32_t category, const wchar_t* name) {
            name_category(domain_of(domain), category, name);
        });
    put(
        NVTX_CBID_CORE2_DomainRegisterStringA,
        +[](Handle domain, const char* text) { return register_string(domain, text); });
    put(
        NVTX_CBID_CORE2_DomainRegisterStringW,
        +[](Handle domain, const wchar_t* text) { return register_string(domain, text); });
    put(NVTX_CBID_CORE2_DomainCreateA, +[](const char* name) { return create_domain(name); });
    put(NVTX_CBID_CORE2_DomainCreateW, +[](const wchar_t* name) { return create_domain(name); });
    put(NVTX_CBID_CORE2_DomainDestroy, +[](Handle) {});  // others may have made it, too
}

}  // namespace

}  // namespace kinetograph::inject

// While there is one, no operator comes twice.
extern "C" __attribute__((visibility("default"))) void kinetograph_leave_operators_to_observer(int leave) {
    kinetograph::inject::has_observer.store(leave != 0, std::memory_order_relaxed);
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
    using namespace kinetograph::inject;
    const auto* callbacks =
        recorder && get_export_table
            ? static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS))
            : nullptr;
    if (!callbacks || callbacks->struct_size < sizeof *callbacks) return 0;
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    const void* client = reinterpret_cast<const void*>(get_export_table);
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) {
        fill_core(table, size);
        if (is_in_library(client, library_of_torch)) fill_torch(table, size);
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) fill_domains(table, size);
    remember_client(client);
    take_part_in_run();
    return 1;
}
