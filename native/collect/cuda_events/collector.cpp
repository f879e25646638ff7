#include "collect/cuda_events/collector.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fork.h"
#include "base/quiet_thread.h"
#include "collect/cuda_events/timer.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

using cuda_events::Counts;
using cuda_events::ScopeTimer;

constexpr std::chrono::milliseconds waiting{5};  // between two looks whether the program has initialised CUDA
constexpr std::chrono::milliseconds harvesting{100};

// One per process, never destroyed: its thread may run until the very end.
class TimerThread {
public:
    void start();
    void stop();
    void flush();
    // Null while there is no CUDA.
    std::shared_ptr<ScopeTimer> timer();
    ScopeTimes times() const;
    std::mutex& mutex() { return mutex_; }

private:
    void start_thread();
    void run();
    void look_for_driver();

    std::mutex one_at_a_time_;  // start, stop and flush; taken before mutex_
    std::mutex mutex_;          // what follows
    std::condition_variable changed_, flushed_;
    std::shared_ptr<ScopeTimer> timer_;
    std::thread thread_;
    int uses_ = 0;
    bool is_stopping_ = false;
    uint64_t flushes_wanted_ = 0, flushes_done_ = 0;
    Counts counts_;
};

TimerThread* timing = nullptr;

void TimerThread::start() {
    std::lock_guard one(one_at_a_time_);
    std::lock_guard lock(mutex_);
    if (uses_ == 0) start_thread();
    ++uses_;
}

// It comes first: there may be none to be had.
void TimerThread::start_thread() {
    is_stopping_ = false;
    thread_ = base::start_quietly("kg-cuda-events", [this] { run(); });
    counts_.error_ns = 0;
    look_for_driver();
}

// The timer goes last, and with it what it has of the driver.
void TimerThread::stop() {
    std::lock_guard one(one_at_a_time_);
    std::shared_ptr<ScopeTimer> last;
    {
        std::lock_guard lock(mutex_);
        if (uses_ == 0 || --uses_ != 0) return;
        is_stopping_ = true;
        last.swap(timer_);
    }
    changed_.notify_all();
    thread_.join();
}

void TimerThread::look_for_driver() {
    const cuda_events::Driver* driver = cuda_events::initialised_driver();
    if (driver) timer_ = std::make_shared<ScopeTimer>(*driver, counts_);
}

void TimerThread::run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        if (!timer_) record::tell_or_count(nullptr, [this] { look_for_driver(); });
        const std::shared_ptr<ScopeTimer> timer = timer_;
        const uint64_t wanted = flushes_wanted_;
        const bool is_flush = wanted != flushes_done_;
        lock.unlock();
        if (timer) timer->harvest(is_flush);
        lock.lock();
        flushes_done_ = wanted;
        flushed_.notify_all();
        changed_.wait_for(lock, timer_ ? harvesting : waiting,
                          [this] { return is_stopping_ || flushes_wanted_ != flushes_done_; });
    }
}

void TimerThread::flush() {
    std::lock_guard one(one_at_a_time_);
    std::unique_lock lock(mutex_);
    if (uses_ == 0) return;
    const uint64_t wanted = ++flushes_wanted_;
    changed_.notify_all();
    flushed_.wait(lock, [&] { return flushes_done_ >= wanted; });
}

std::shared_ptr<ScopeTimer> TimerThread::timer() {
    std::lock_guard lock(mutex_);
    return timer_;
}

ScopeTimes TimerThread::times() const {
    constexpr auto relaxed = std::memory_order_relaxed;
    return {counts_.timed.load(relaxed), counts_.captured.load(relaxed), counts_.elsewhere.load(relaxed),
            counts_.lost.load(relaxed), int64_t(counts_.error_ns.load(relaxed))};
}

}  // namespace

// A forked child has neither the thread nor a CUDA that could be used: it leaves what it inherited alone.
void prepare_scope_timer() {
    static std::once_flag once;
    std::call_once(once, [] {
        record::Recorder::instance();  // its handlers first, so that ours run before them at a fork
        timing = new TimerThread;
        base::on_fork([] { timing->mutex().lock(); }, [] { timing->mutex().unlock(); },
                      [] { timing = new TimerThread; });
    });
}

void start_scope_timer() {
    prepare_scope_timer();
    timing->start();
}

void stop_scope_timer() {
    prepare_scope_timer();
    timing->stop();
}

bool scope_timer_is_ready() {
    prepare_scope_timer();
    return timing->timer() != nullptr;
}

uint64_t begin_timed_scope(uint32_t name, int32_t tid, const StreamPlace& place) {
    prepare_scope_timer();
    const std::shared_ptr<ScopeTimer> timer = timing->timer();
    return timer ? timer->begin(name, tid, place) : 0;
}

void end_timed_scope(uint64_t number, const StreamPlace& place) {
    prepare_scope_timer();
    const std::shared_ptr<ScopeTimer> timer = timing->timer();
    if (timer) timer->end(number, place);
}

void flush_timed_scopes() {
    prepare_scope_timer();
    timing->flush();
}

ScopeTimes scope_times() {
    prepare_scope_timer();
    return timing->times();
}

}  // namespace kinetograph::collect
