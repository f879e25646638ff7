#include "collect/cuda_events/timer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "record/recorder.h"

namespace kinetograph::collect::cuda_events {

namespace {

using record::Record;

constexpr uint8_t cuda_device = 1;  // DeviceType::CUDA
constexpr int64_t second_ns = 1'000'000'000;
constexpr double ns_per_ms = 1e6;
// Of scopes whose end never comes, as those of tasks that are gone.
constexpr size_t most_open = 1 << 16;

// One that an earlier timer gave must not be one of this timer's.
std::atomic<uint64_t> next_number{1};

CUstream handle_of(const StreamPlace& place) {
    return reinterpret_cast<CUstream>(uintptr_t(place.stream));
}

int64_t stream_number(const Driver& driver, const StreamPlace& place) {
    unsigned long long id = 0;
    if (driver.stream_id && driver.stream_id(handle_of(place), &id) == CUDA_SUCCESS) return int64_t(id);
    return int64_t(place.stream);
}

void append(record::ThreadBuffer& thread, const TimedScope& scope, uint64_t start, uint64_t end) {
    const record::DeviceWork work{
        {cuda_device, {}, scope.context->device(), scope.stream}, scope.ticks, 0, 0};
    static_assert(sizeof work == record::unit_bytes);
    Record* room = record::room_for(thread, 2);
    if (!room) return;
    *room = {start,
             end,
             scope.name,
             record::RecordKind::device_work,
             uint8_t(record::Category::gpu_user_annotation),
             0,
             0,
             0,
             1,
             uint32_t(scope.tid)};
    std::memcpy(room + 1, &work, sizeof work);
    record::publish(thread, 2);
}

// Over the life of the process, in ticks per nanosecond.
double measured_rate() {
    const base::MeasuredAnchor now = base::measure_anchor();
    const base::MeasuredAnchor& begin = base::process_anchor();
    const double rate = double(now.ticks - begin.ticks) / std::max(1.0, double(now.raw_ns - begin.raw_ns));
    return std::max(rate, 1e-3);
}

void raise(std::atomic<uint64_t>& highest, uint64_t value) {
    if (value > highest.load(std::memory_order_relaxed)) highest.store(value, std::memory_order_relaxed);
}

}  // namespace

uint64_t ScopeTimer::begin(uint32_t name, int32_t tid, const StreamPlace& place) {
    const CurrentContext current(driver_, place.device);
    if (!current) return 0;
    const RelaxedCapture relaxed(driver_);
    auto scope = std::make_unique<TimedScope>();
    scope->context = events_of(current.handle());
    if (!scope->context || is_captured(handle_of(place))) return 0;
    scope->anchor = scope->context->anchor();
    scope->begin = scope->context->take();
    scope->name = name;
    scope->tid = tid;
    scope->stream = stream_number(driver_, place);
    scope->ticks = base::ticks();
    if (!scope->anchor || !scope->begin ||
        driver_.record_event(scope->begin.handle(), handle_of(place)) != CUDA_SUCCESS) {
        lose(*scope);
        return 0;
    }
    return keep_open(std::move(scope));
}

void ScopeTimer::end(uint64_t number, const StreamPlace& place) {
    std::unique_ptr<TimedScope> scope = take_open(number);
    if (!scope) return;
    const CurrentContext current(driver_, place.device);
    if (current.handle() != scope->context->handle()) {
        counts_.elsewhere.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (scope->context->is_gone() || scope->context->is_another()) return lose(*scope);
    if (is_captured(handle_of(place))) return;
    const RelaxedCapture relaxed(driver_);
    scope->end = scope->context->take();
    if (!scope->end || driver_.record_event(scope->end.handle(), handle_of(place)) != CUDA_SUCCESS)
        return lose(*scope);
    std::lock_guard lock(mutex_);
    ended_.push_back(std::move(scope));
}

// Asking does no harm to a capture. The legacy stream takes part in those of others, and tells so by an
// error.
bool ScopeTimer::is_captured(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver_.is_capturing(stream, &status);
    const bool is_captured = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                             (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
    if (is_captured) counts_.captured.fetch_add(1, std::memory_order_relaxed);
    return is_captured;
}

std::shared_ptr<ContextEvents> ScopeTimer::events_of(CUcontext context) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<ContextEvents>& events = contexts_[context];
    if (events && events->is_gone()) {
        counts_.lost.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    if (!events || events->is_another()) events = std::make_shared<ContextEvents>(driver_, context);
    return events;
}

uint64_t ScopeTimer::keep_open(std::unique_ptr<TimedScope> scope) {
    std::lock_guard lock(mutex_);
    if (open_.size() >= most_open) {
        counts_.lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    const uint64_t number = next_number.fetch_add(1, std::memory_order_relaxed);
    open_[number] = std::move(scope);
    return number;
}

std::unique_ptr<TimedScope> ScopeTimer::take_open(uint64_t number) {
    std::lock_guard lock(mutex_);
    auto node = open_.extract(number);
    return node ? std::move(node.mapped()) : nullptr;
}

// Its events may be those of a context that is gone, whose place another has taken.
void ScopeTimer::lose(TimedScope& scope) {
    scope.begin.forget();
    scope.end.forget();
    scope.context->drop_anchor(scope.anchor);
    counts_.lost.fetch_add(1, std::memory_order_relaxed);
}

void ScopeTimer::harvest(bool wait) noexcept {
    const RelaxedCapture relaxed(driver_);
    Scopes scopes;
    {
        std::lock_guard lock(mutex_);
        scopes.swap(ended_);
    }
    ticks_per_ns_ = measured_rate();
    record::ThreadBuffer* thread = record::serving_thread();
    record::tell_or_count(thread, [&] {
        std::erase_if(scopes, [&](const std::unique_ptr<TimedScope>& scope) {
            const Outcome outcome = tell(thread, *scope, wait);
            if (outcome == Outcome::lost) lose(*scope);
            return outcome != Outcome::running;
        });
        put_back(std::move(scopes));
        renew_anchors(wait);
    });
}

// In front of those that have ended meanwhile; where there are none, without asking for memory.
void ScopeTimer::put_back(Scopes running) {
    std::lock_guard lock(mutex_);
    if (!ended_.empty())
        running.insert(running.end(), std::make_move_iterator(ended_.begin()),
                       std::make_move_iterator(ended_.end()));
    ended_.swap(running);
}

ScopeTimer::Outcome ScopeTimer::tell(record::ThreadBuffer* thread, TimedScope& scope, bool wait) {
    if (scope.context->is_gone() || scope.context->is_another()) return Outcome::lost;
    const PushedContext pushed(driver_, scope.context->handle());
    if (!pushed) return Outcome::lost;
    if (wait) {
        driver_.wait_for_event(scope.begin.handle());  // it may be on another stream
        driver_.wait_for_event(scope.end.handle());
    }
    float before_ms = 0, within_ms = 0;
    const CUresult result = measure(scope, before_ms, within_ms);
    if (result == CUDA_ERROR_NOT_READY) return Outcome::running;
    if (result != CUDA_SUCCESS || !record::Recorder::instance().strings().is_valid(scope.name))
        return Outcome::lost;
    const double ticks_per_ms = ns_per_ms * ticks_per_ns_;
    const auto since_anchor = uint64_t(std::llround(std::max(0.0, double(before_ms) * ticks_per_ms)));
    // The device cannot have been there before the host was: what seems so is the error of the clocks.
    const uint64_t start = std::max(scope.anchor->ticks + since_anchor, scope.ticks);
    const auto length = uint64_t(std::llround(std::max(0.0, double(within_ms) * ticks_per_ms)));
    if (thread) append(*thread, scope, start, start + length);
    counts_.timed.fetch_add(1, std::memory_order_relaxed);
    return Outcome::told;
}

// Between two streams the end may have come before the begin: that is no time at all.
CUresult ScopeTimer::measure(const TimedScope& scope, float& before_ms, float& within_ms) {
    const CUresult result = driver_.elapsed_time(&within_ms, scope.begin.handle(), scope.end.handle());
    if (result != CUDA_SUCCESS) return result;
    return driver_.elapsed_time(&before_ms, scope.anchor->event.handle(), scope.begin.handle());
}

// A device's clock runs at a rate of its own, and the milliseconds of the driver are floats.
void ScopeTimer::renew_anchors(bool now) {
    std::vector<std::shared_ptr<ContextEvents>> contexts;
    {
        std::lock_guard lock(mutex_);
        for (const auto& [handle, events] : contexts_) contexts.push_back(events);
    }
    const auto second = uint64_t(double(second_ns) * ticks_per_ns_);
    for (const std::shared_ptr<ContextEvents>& events : contexts) {
        // Kept, so that it is known when the program comes back with it.
        if (events->is_gone() || events->is_another()) continue;
        const PushedContext pushed(driver_, events->handle());
        if (pushed) {
            const uint64_t error = events->renew_anchor(now ? 0 : second, ticks_per_ns_);
            raise(counts_.error_ns, uint64_t(double(error) / ticks_per_ns_));
        } else {
            std::lock_guard lock(mutex_);
            contexts_.erase(events->handle());
        }
    }
}

}  // namespace kinetograph::collect::cuda_events
