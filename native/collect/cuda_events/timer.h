// The scopes that are being timed: begun, ended, and told once the device has got there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "collect/cuda_events/collector.h"
#include "collect/cuda_events/context_events.h"
#include "record/thread_buffer.h"

namespace kinetograph::collect::cuda_events {

struct TimedScope {
    std::shared_ptr<ContextEvents> context;  // first, for it owns what follows
    std::shared_ptr<const Anchor> anchor;
    Event begin, end;
    uint64_t ticks = 0;  // of the host, just before the begin
    uint32_t name = 0;
    int32_t tid = 0;
    int64_t stream = 0;
};

// What became of them, since the process began.
struct Counts {
    std::atomic<uint64_t> timed{0}, captured{0}, elsewhere{0}, lost{0};
    std::atomic<uint64_t> error_ns{0};  // the largest
};

class ScopeTimer {
public:
    ScopeTimer(const Driver& driver, Counts& counts) : driver_(driver), counts_(counts) {}

    uint64_t begin(uint32_t name, int32_t tid, const StreamPlace& place);
    void end(uint64_t number, const StreamPlace& place);

    // Tells the sessions that record of the scopes whose end the device has reached; `wait`: of all that have
    // ended.
    void harvest(bool wait) noexcept;

private:
    using Scopes = std::vector<std::unique_ptr<TimedScope>>;
    enum class Outcome { told, running, lost };

    std::shared_ptr<ContextEvents> events_of(CUcontext context);
    bool is_captured(CUstream stream);
    std::unique_ptr<TimedScope> take_open(uint64_t number);
    uint64_t keep_open(std::unique_ptr<TimedScope> scope);
    Outcome tell(record::ThreadBuffer* thread, TimedScope& scope, bool wait);
    CUresult measure(const TimedScope& scope, float& before_ms, float& within_ms);
    void lose(TimedScope& scope);
    void put_back(Scopes running);
    void renew_anchors(bool now);

    const Driver& driver_;
    Counts& counts_;
    std::mutex mutex_;  // the three that follow
    std::unordered_map<CUcontext, std::shared_ptr<ContextEvents>> contexts_;
    std::unordered_map<uint64_t, std::unique_ptr<TimedScope>> open_;
    Scopes ended_;
    double ticks_per_ns_ = 1;  // for the thread that harvests
};

}  // namespace kinetograph::collect::cuda_events
