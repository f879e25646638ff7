// Our part in CUPTI: subscribed, with kinds of records switched on, or out of its way.
//
// Whoever uses it holds the collector's lock. CUPTI's callbacks come in threads of the program and take no
// lock that they would have to wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "collect/cupti/buffers.h"
#include "collect/cupti/call_log.h"
#include "collect/cupti/captures.h"
#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

struct WantedKinds {
    bool synchronization = false;
    bool memory = false;
    bool operator==(const WantedKinds&) const = default;
};

class WantedCalls;

class Attachment {
public:
    // `mutex` is the collector's.
    Attachment(const Cupti& cupti, Buffers& buffers, CallLog& calls, std::mutex& mutex)
        : cupti_(cupti), buffers_(buffers), calls_(calls), mutex_(mutex) {}

    // Empty, or the reason why not: then everything is as if it had not been tried.
    std::string attach(const WantedKinds& kinds, const WantedCalls& calls);
    // Asks for more than before.
    void add_kinds(const WantedKinds& kinds);
    // For no more than this.
    void drop_kinds(const WantedKinds& kinds);

    // What is complete comes into the buffers; with `all`, whatever is there.
    CUptiResult flush(bool all);
    // By records of what we call ourselves it is seen whether records still come to us. False when CUPTI
    // refuses. Only for the end: switched off again, libcupti 13.0 makes every call of the program pay for it
    // until it is let go of.
    bool record_driver(bool on) const;
    // Makes `call`, a call of one function of the driver, with a record of it. That leaves nothing behind,
    // but where CUPTI can only record all of them. Not for the end: on an H200, where other threads went on
    // behind it, their kernels were without launches.
    void record_one_call(CUpti_driver_api_trace_cbid callback, const std::function<void()>& call) const;
    // Whoever registers callbacks gets the records, and those before it are not told.
    void take_callbacks_back();
    // Everything off. CUPTI is let go of when anybody next returns from a call, where that is safe: until
    // then it would cost the program some time in each call.
    void detach();
    // Whether the next call would do.
    bool can_be_let_go() const { return is_leaving_.load(std::memory_order_relaxed) && !is_capturing(); }
    // After that, without waiting for such a call: CUPTI stays loaded, and is free for others.
    void leave_now();
    // Another tool has taken our place, and perhaps our buffers, or CUPTI does not work: leaves it.
    void give_up(bool buffers_are_lost);

    // What CUPTI does not record, although it was asked to, separated by commas.
    const std::string& refused() const { return refused_; }

    // Whether a capture is under way that began while we were attached.
    bool is_capturing() const { return captures_.is_any_under_way(); }
    // Records that CUPTI lost for want of buffers, since the last time this was asked.
    uint64_t take_dropped() { return dropped_.exchange(0, std::memory_order_relaxed); }

private:
    static void on_request(uint8_t** buffer, size_t* size, size_t* most_records);
    static void on_complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
    static void on_call(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId callback, const void* data);

    bool is_subscribed() const;
    bool enable_all_callbacks(bool on) const;
    std::string subscribe();
    std::string configure(const WantedKinds& kinds, const WantedCalls& calls);
    CUptiResult enable(const WantedKinds& kinds);
    void enable_with_existing(CUpti_ActivityKind kind);
    template <class Kinds>
    void switch_on(const Kinds& kinds);
    template <class Kinds>
    void switch_off(const Kinds& kinds);
    void miss(std::string_view what);
    void disable_all();
    void let_go();

    const Cupti& cupti_;
    Buffers& buffers_;
    CallLog& calls_;
    std::mutex& mutex_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    WantedKinds enabled_;
    std::string refused_;
    bool is_attached_ = false;
    std::atomic<bool> is_leaving_{false};
    std::atomic<uint64_t> dropped_{0};
    Captures captures_;
};

}  // namespace kinetograph::collect::cupti
