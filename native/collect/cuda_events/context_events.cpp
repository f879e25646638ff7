#include "collect/cuda_events/context_events.h"

#include <cmath>
#include <new>

#include "base/clock.h"

namespace kinetograph::collect::cuda_events {

namespace {

constexpr int anchor_tries = 4;  // the quickest counts: others were interrupted
constexpr double ns_per_ms = 1e6;

}  // namespace

Event::~Event() {
    if (handle_) owner_->give_back(handle_);
}

ContextEvents::ContextEvents(const Driver& driver, CUcontext context) : driver_(driver), context_(context) {
    CUdevice device = 0;
    if (driver_.context_device(&device) == CUDA_SUCCESS) device_ = int32_t(device);
    see_whether_primary();
    if (driver_.context_id && driver_.context_id(context_, &id_) != CUDA_SUCCESS) id_ = 0;
    if (driver_.create_stream(&stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) stream_ = nullptr;
}

void ContextEvents::see_whether_primary() {
    unsigned flags = 0;
    int is_active = 0;
    CUcontext primary = nullptr;
    if (driver_.primary_context_state(device_, &flags, &is_active) != CUDA_SUCCESS || !is_active ||
        driver_.retain_primary_context(&primary, device_) != CUDA_SUCCESS)
        return;
    is_primary_ = primary == context_;
    driver_.release_primary_context(device_);
}

bool ContextEvents::is_gone() const {
    unsigned flags = 0;
    int is_active = 0;
    return is_primary_ &&
           (driver_.primary_context_state(device_, &flags, &is_active) != CUDA_SUCCESS || !is_active);
}

bool ContextEvents::is_another() const {
    unsigned long long id = 0;
    return id_ != 0 && (driver_.context_id(context_, &id) != CUDA_SUCCESS || id != id_);
}

// The context may be gone, and with it all of this.
ContextEvents::~ContextEvents() {
    anchor_.reset();
    if (is_gone() || is_another()) return;
    const PushedContext pushed(driver_, context_);
    if (!pushed) return;
    const RelaxedCapture relaxed(driver_);
    for (CUevent event : free_) driver_.destroy_event(event);
    if (stream_) driver_.destroy_stream(stream_);
}

Event ContextEvents::take() {
    {
        std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            const CUevent event = free_.back();
            free_.pop_back();
            return {*this, event};
        }
    }
    CUevent event = nullptr;
    const bool is_made = driver_.create_event(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    return is_made ? Event(*this, event) : Event();
}

void ContextEvents::give_back(CUevent event) {
    std::lock_guard lock(mutex_);
    try {
        free_.push_back(event);
    } catch (const std::bad_alloc&) {
        // It goes with its context.
    }
}

std::shared_ptr<const Anchor> ContextEvents::anchor() {
    {
        std::lock_guard lock(mutex_);
        if (anchor_) return anchor_;
    }
    std::shared_ptr<const Anchor> made = make_anchor();
    std::lock_guard lock(mutex_);
    if (!anchor_) anchor_ = std::move(made);
    return anchor_;
}

std::shared_ptr<const Anchor> ContextEvents::make_anchor() {
    std::lock_guard lock(stream_mutex_);
    auto best = std::make_shared<Anchor>();
    best->doubt_ticks = UINT64_MAX;
    for (int i = 0; i < anchor_tries; ++i) try_anchor(*best);
    if (!best->event) return nullptr;
    return best;
}

// Somewhere between the two readings of our clock.
void ContextEvents::try_anchor(Anchor& best) {
    Event event = take();
    if (!event || !stream_) return;
    const uint64_t before = base::ticks();
    if (driver_.record_event(event.handle(), stream_) != CUDA_SUCCESS ||
        driver_.wait_for_event(event.handle()) != CUDA_SUCCESS)
        return event.forget();
    const uint64_t doubt = (base::ticks() - before + 1) / 2;
    if (doubt >= best.doubt_ticks) return;
    best.event = std::move(event);
    best.ticks = before + doubt;
    best.doubt_ticks = doubt;
}

uint64_t ContextEvents::renew_anchor(uint64_t older_than_ticks, double ticks_per_ns) {
    std::shared_ptr<const Anchor> older;
    {
        std::lock_guard lock(mutex_);
        older = anchor_;
    }
    if (!older || base::ticks() - older->ticks < older_than_ticks) return 0;
    std::shared_ptr<const Anchor> newer = make_anchor();
    float ms = 0;
    if (!newer || driver_.elapsed_time(&ms, older->event.handle(), newer->event.handle()) != CUDA_SUCCESS) {
        drop_anchor(older);
        return 0;
    }
    const double drift =
        std::abs(double(ms) * ns_per_ms * ticks_per_ns - double(newer->ticks - older->ticks));
    const uint64_t error = 2 * older->doubt_ticks + newer->doubt_ticks + uint64_t(drift);
    std::lock_guard lock(mutex_);
    anchor_ = std::move(newer);
    return error;
}

void ContextEvents::drop_anchor(const std::shared_ptr<const Anchor>& anchor) {
    std::shared_ptr<const Anchor> dropped;  // gives its event back, once the lock is open
    std::lock_guard lock(mutex_);
    if (anchor_ == anchor) dropped.swap(anchor_);
}

}  // namespace kinetograph::collect::cuda_events
