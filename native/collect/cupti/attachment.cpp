#include "collect/cupti/attachment.h"

#include <algorithm>

#include "base/clock.h"
#include "collect/cupti/calls.h"

namespace kinetograph::collect::cupti {

namespace {

// CUPTI's buffer callbacks carry no pointer of ours. One attachment serves the process.
std::atomic<Attachment*> current{nullptr};

// Older ones crashed when CUDA graphs met a CUPTI that had been let go of and taken up again.
constexpr uint32_t first_safe_to_finalize = 24;  // CUDA 12.6

struct Kind {
    CUpti_ActivityKind number;
    const char* shows;  // what would be missing
};
// What work belongs to. Nothing is missed without them but names of what they are.
constexpr CUpti_ActivityKind of_things[] = {CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM};
constexpr Kind always[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},   {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "sets"},     {CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
    {CUPTI_ACTIVITY_KIND_JIT, "compilation"},
};
// Not GRAPH_TRACE, one record for each launch of a graph: with it libcupti 13.0 crashes where a graph is
// launched that was made before. Nodes are put together where a trace is built.
constexpr Kind of_synchronization[] = {{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "waiting"},
                                       {CUPTI_ACTIVITY_KIND_CUDA_EVENT, "events"}};
constexpr Kind of_memory[] = {{CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
                              {CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools"}};

uint64_t timestamp() {
    return base::ticks();
}

}  // namespace

// ---- callbacks

void Attachment::on_request(uint8_t** buffer, size_t* size, size_t* most_records) {
    Attachment* attachment = current.load(std::memory_order_acquire);
    *buffer = attachment ? attachment->buffers_.request() : nullptr;
    *size = *buffer ? Buffers::buffer_bytes : 0;
    *most_records = 0;  // as many as fit
}

void Attachment::on_complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes,
                             size_t valid) {
    Attachment* attachment = current.load(std::memory_order_acquire);
    if (!attachment) return;
    size_t dropped = 0;
    if (attachment->cupti_.dropped_records(context, stream, &dropped) == CUPTI_SUCCESS && dropped != 0)
        attachment->dropped_.fetch_add(dropped, std::memory_order_relaxed);
    if (buffer) attachment->buffers_.complete(buffer, bytes, valid);
}

void Attachment::on_call(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId callback,
                         const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    auto& attachment = *static_cast<Attachment*>(self);
    const bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
    if (call.callbackSite != CUPTI_API_EXIT)
        return attachment.calls_.begin(is_driver, callback, call.correlationId);
    attachment.calls_.end(is_driver, callback, call.correlationId);
    attachment.captures_.see(domain, callback, call);
    if (attachment.is_leaving_.load(std::memory_order_relaxed)) attachment.let_go();
}

// At the exit of a call, which is where CUPTI can be left. A session that starts meanwhile holds the lock and
// goes on with what is there.
void Attachment::let_go() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !is_leaving_.load(std::memory_order_relaxed) || captures_.is_any_under_way()) return;
    is_leaving_.store(false, std::memory_order_relaxed);
    // Refused, we stay as with an older library: to subscribe again would be refused as well, by ourselves.
    if (cupti_.finalize() != CUPTI_SUCCESS && is_subscribed()) return;
    subscriber_ = nullptr;
}

// ---- attaching

// Subscribing comes first: who cannot do that must not touch the callbacks, for they are the other tool's.
std::string Attachment::attach(const WantedKinds& kinds, const WantedCalls& calls) {
    if (is_attached_) {
        add_kinds(kinds);
        return {};
    }
    // As long as we had not left, captures were followed.
    const bool was_leaving = is_leaving_.exchange(false, std::memory_order_relaxed);
    if (!was_leaving || !is_subscribed()) captures_.forget();
    std::string reason = subscribe();
    if (!reason.empty()) return reason;
    Captures::watch(cupti_, subscriber_);
    current.store(this, std::memory_order_release);
    reason = configure(kinds, calls);
    is_attached_ = reason.empty();
    if (!is_attached_) {
        disable_all();
        cupti_.unsubscribe(subscriber_);
        subscriber_ = nullptr;
    }
    return reason;
}

// Whether CUPTI still knows us: another tool may have ended it meanwhile. Switches all callbacks off.
bool Attachment::is_subscribed() const {
    return subscriber_ && enable_all_callbacks(false);
}

bool Attachment::enable_all_callbacks(bool on) const {
    return cupti_.enable_domain(on, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS &&
           cupti_.enable_domain(on, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS;
}

std::string Attachment::subscribe() {
    if (is_subscribed()) return {};  // with what is left of an earlier session
    const CUptiResult result = cupti_.subscribe(&subscriber_, on_call, this);
    if (result == CUPTI_SUCCESS) return {};
    subscriber_ = nullptr;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return "another tool (torch.profiler, Nsight, ...) uses CUPTI, which allows only one";
    return "CUPTI cannot be used: " + describe(cupti_, result);
}

std::string Attachment::configure(const WantedKinds& kinds, const WantedCalls& calls) {
    uint8_t on = 1;
    size_t size = sizeof on;
    cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &on);
    buffers_.take_foreign();
    CUptiResult result = cupti_.register_callbacks(on_request, on_complete);
    if (result != CUPTI_SUCCESS) return "CUPTI takes no buffers: " + describe(cupti_, result);
    cupti_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    // Before any kind is on. Refused, records carry CLOCK_REALTIME, which the decoder tells apart.
    if (cupti_.register_timestamp) cupti_.register_timestamp(timestamp);
    result = enable(kinds);
    if (result != CUPTI_SUCCESS) return "CUPTI records no kernels: " + describe(cupti_, result);
    if (!calls.watch(cupti_, subscriber_)) miss("calls, and so what launched the work");
    calls_.take_dropped();  // of an earlier session
    calls_.switch_on();
    return {};
}

// It tells of those that exist already, too.
void Attachment::enable_with_existing(CUpti_ActivityKind kind) {
    if (!cupti_.enable_and_dump || cupti_.enable_and_dump(kind) != CUPTI_SUCCESS) cupti_.enable(kind);
}

// Without kernels there is no sense in the rest; all others may be missing in some version.
CUptiResult Attachment::enable(const WantedKinds& kinds) {
    for (const CUpti_ActivityKind kind : of_things) enable_with_existing(kind);
    const CUptiResult result = cupti_.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (result != CUPTI_SUCCESS) return result;
    refused_.clear();
    switch_on(always);
    enabled_ = {};
    add_kinds(kinds);
    return CUPTI_SUCCESS;
}

template <class Kinds>
void Attachment::switch_on(const Kinds& kinds) {
    for (const Kind& kind : kinds)
        if (cupti_.enable(kind.number) != CUPTI_SUCCESS) miss(kind.shows);
}

void Attachment::miss(std::string_view what) {
    (refused_ += refused_.empty() ? "" : ", ") += what;
}

void Attachment::add_kinds(const WantedKinds& kinds) {
    if (kinds.synchronization && !enabled_.synchronization) {
        if (cupti_.event_timestamps) cupti_.event_timestamps(1);
        switch_on(of_synchronization);
    }
    if (kinds.memory && !enabled_.memory) switch_on(of_memory);
    enabled_ = {enabled_.synchronization || kinds.synchronization, enabled_.memory || kinds.memory};
}

template <class Kinds>
void Attachment::switch_off(const Kinds& kinds) {
    for (const Kind& kind : kinds) cupti_.disable(kind.number);
}

void Attachment::drop_kinds(const WantedKinds& kinds) {
    if (enabled_.synchronization && !kinds.synchronization) switch_off(of_synchronization);
    if (enabled_.memory && !kinds.memory) switch_off(of_memory);
    enabled_ = {enabled_.synchronization && kinds.synchronization, enabled_.memory && kinds.memory};
}

void Attachment::disable_all() {
    calls_.switch_off();
    enable_all_callbacks(false);
    cupti_.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (const CUpti_ActivityKind kind : of_things) cupti_.disable(kind);
    switch_off(always);
    switch_off(of_synchronization);
    switch_off(of_memory);
}

CUptiResult Attachment::flush(bool all) {
    return cupti_.flush_all(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

bool Attachment::record_driver(bool on) const {
    return (on ? cupti_.enable : cupti_.disable)(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS;
}

void Attachment::record_one_call(CUpti_driver_api_trace_cbid callback,
                                 const std::function<void()>& call) const {
    const auto by_name = cupti_.enable_driver_call;
    const bool is_alone = by_name && by_name(callback, 1) == CUPTI_SUCCESS;
    if (!is_alone && !record_driver(true)) return;
    call();
    if (is_alone)
        by_name(callback, 0);
    else
        record_driver(false);
}

// ---- leaving

void Attachment::detach() {
    if (!is_attached_) return;
    is_attached_ = false;
    disable_all();
    const bool can_leave = cupti_.version >= first_safe_to_finalize;
    // At once, so that the end of a capture is not missed.
    if (can_leave) enable_all_callbacks(true);
    flush(true);
    is_leaving_.store(can_leave, std::memory_order_relaxed);  // if not: subscribed, with everything off
}

void Attachment::leave_now() {
    is_leaving_.store(false, std::memory_order_relaxed);
    if (subscriber_) cupti_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
}

void Attachment::take_callbacks_back() {
    cupti_.register_callbacks(on_request, on_complete);
}

// As long as we are subscribed no other tool can be, and it would record nothing, now and later.
void Attachment::give_up(bool buffers_are_lost) {
    if (is_subscribed()) {
        detach();
        if (!is_leaving_.load(std::memory_order_relaxed)) leave_now();
    } else {
        calls_.switch_off();
        subscriber_ = nullptr;
        is_attached_ = false;
        buffers_are_lost = true;
    }
    if (buffers_are_lost) buffers_.abandon_outstanding();
}

}  // namespace kinetograph::collect::cupti
