// The events that we have in one CUDA context: used again and again, and destroyed with this object.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collect/cuda_events/driver.h"

namespace kinetograph::collect::cuda_events {

class ContextEvents;

// One event, given back when this ends.
class Event {
public:
    Event() = default;
    Event(ContextEvents& owner, CUevent handle) : owner_(&owner), handle_(handle) {}
    Event(Event&& other) noexcept : owner_(other.owner_), handle_(std::exchange(other.handle_, nullptr)) {}
    Event& operator=(Event&& other) noexcept {
        std::swap(owner_, other.owner_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Event();
    explicit operator bool() const { return handle_ != nullptr; }
    CUevent handle() const { return handle_; }
    // One that the driver refuses is not used again.
    void forget() { handle_ = nullptr; }

private:
    ContextEvents* owner_ = nullptr;
    CUevent handle_ = nullptr;
};

// A moment on both clocks: the device's, as an event, and ours.
struct Anchor {
    Event event;
    uint64_t ticks = 0;
    uint64_t doubt_ticks = 0;  // it may be off by so much
};

// Whoever calls has the context current, and may be any thread.
class ContextEvents {
public:
    ContextEvents(const Driver& driver, CUcontext context);
    ~ContextEvents();
    ContextEvents(const ContextEvents&) = delete;

    CUcontext handle() const { return context_; }
    int32_t device() const { return device_; }
    // Whether the program has reset the device: the driver crashes over events of a context that is gone.
    bool is_gone() const;
    // Whether it has one again, under the same handle: it has nothing of ours.
    bool is_another() const;

    // Empty when the driver refuses.
    Event take();
    void give_back(CUevent event);

    // The newest; a first one is made, which waits for the device some ten microseconds. Null when that
    // fails.
    std::shared_ptr<const Anchor> anchor();
    // A new one, if the newest is older than this. Returns the error of what was timed between the two: how
    // far the clocks have drifted apart, and the doubts about both. In ticks; 0 when nothing was done.
    uint64_t renew_anchor(uint64_t older_than_ticks, double ticks_per_ns);
    // It does not serve any more.
    void drop_anchor(const std::shared_ptr<const Anchor>& anchor);

private:
    void see_whether_primary();
    std::shared_ptr<const Anchor> make_anchor();
    void try_anchor(Anchor& anchor);

    const Driver& driver_;
    const CUcontext context_;
    int32_t device_ = 0;
    bool is_primary_ = false;
    unsigned long long id_ = 0;
    std::mutex mutex_;  // `free_` and `anchor_`
    std::mutex stream_mutex_;
    CUstream stream_ = nullptr;  // ours, with nothing on it: an event there happens at once
    std::vector<CUevent> free_;
    std::shared_ptr<const Anchor> anchor_;
};

}  // namespace kinetograph::collect::cuda_events
