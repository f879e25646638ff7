#include "collect/python_samples/sampler.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "collect/python_samples/code_table.h"
#include "collect/python_samples/stack_reader.h"
#include "collect/python_samples/stack_writer.h"
#include "collect/python_samples/thread_clock.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

using record::LossCounts;
using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

struct Counters {
    std::atomic<uint64_t> rounds{0}, stacks{0}, torn{0}, too_deep{0}, missed{0};
    std::atomic<int64_t> cpu_ns{0};
};
Counters counters;

void count(std::atomic<uint64_t>& counter, uint64_t more = 1) {
    counter.fetch_add(more, std::memory_order_relaxed);
}

// Also where a session file would tell of it.
void count_loss(record::ThreadBuffer& buffer, std::atomic<uint64_t>& counter,
                std::atomic<uint64_t> LossCounts::* loss, uint64_t more = 1) {
    count(counter, more);
    record::count_loss(buffer, loss, more);
}

// The last stack seen of a thread, which was not empty.
struct LastStack {
    bool is_told = false;  // it, or one before it: then the thread's end has to be told, too
    int64_t cpu_ns = -1;   // what the thread had used before it was read; -1: not known
    std::vector<uint32_t> names;
};
using ThreadsWithStacks = std::unordered_map<uint64_t, LastStack>;  // by OtherThread::packed()

class Sampler {
public:
    Sampler(const SampleOptions& options, NamePlaces places, uintptr_t interpreter)
        : options_(options),
          codes_(memory_, std::move(places), options.filter),
          stacks_(memory_, interpreter) {
        require_known_layout();
    }

    // After one that went before: threads that it saw and that are gone have yet to get their end.
    void start(ThreadsWithStacks seen_before);
    ThreadsWithStacks stop();
    bool is_of_this_process() const { return process_ == getpid(); }

private:
    void require_known_layout();
    void run();
    bool wait_until(Clock::time_point deadline);
    void take_round(record::ThreadBuffer& buffer);
    void take_stack(record::ThreadBuffer& buffer, const StackReader::Thread& thread);
    StackReader::Result try_stack(const StackReader::Thread& thread);
    bool has_not_run(record::OtherThread thread, int64_t cpu_ns) const;
    void write(record::ThreadBuffer& buffer, record::OtherThread thread, uint64_t at, int64_t cpu_ns);
    bool tell_end(record::ThreadBuffer& buffer, record::OtherThread thread, const LastStack& last);
    void end_threads_that_left(record::ThreadBuffer& buffer);
    void forget_names_if_gone();
    void forget_stacks_of_waiting_threads();

    const SampleOptions options_;
    const int process_ = getpid();
    MemoryReader memory_;
    CodeTable codes_;
    StackReader stacks_;
    StackWriter writer_;
    std::vector<uint32_t> names_;
    ThreadsWithStacks with_stacks_;
    ThreadClock clock_;
    std::unordered_map<uint64_t, uint64_t> seen_in_round_;
    uint64_t round_ = 0;
    uint32_t oldest_name_ = 0;

    std::mutex mutex_;
    std::condition_variable stop_requested_;
    bool is_stopping_ = false;
    std::thread thread_;
};

// With the GIL, so that what we find must be what Python says.
void Sampler::require_known_layout() {
    PyThreadState* state = PyThreadState_Get();
    const auto own = [&](const StackReader::Thread& thread) { return thread.address == address_of(state); };
    const bool has_threads = stacks_.find_threads();
    const auto found = std::find_if(stacks_.threads().begin(), stacks_.threads().end(), own);
    if (has_threads && found != stacks_.threads().end() && found->id.tid == int32_t(syscall(SYS_gettid)) &&
        try_stack(*found) == StackReader::Result::whole)
        return;
    throw std::runtime_error("Python " + std::string(Py_GetVersion()) +
                             " lays out its threads in another way than the one this was built for");
}

void Sampler::start(ThreadsWithStacks seen_before) {
    with_stacks_ = std::move(seen_before);
    forget_stacks_of_waiting_threads();
    thread_ = base::start_quietly("kg-sampler", [this] { run(); });
}

ThreadsWithStacks Sampler::stop() {
    {
        std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    stop_requested_.notify_one();
    thread_.join();
    return std::move(with_stacks_);
}

// Sleeps to deadlines on a grid, so that rounds do not drift; those that were missed are not made up for.
void Sampler::run() {
    prctl(PR_SET_TIMERSLACK, 1000UL);
    const auto period = std::chrono::nanoseconds(1'000'000'000 / options_.hz);
    Clock::time_point deadline = Clock::now();
    const int64_t used_before = counters.cpu_ns.load(std::memory_order_relaxed);
    while (!wait_until(deadline)) {
        record::ThreadBuffer* buffer = record::serving_thread();
        if (buffer) record::tell_or_count(buffer, [&] { take_round(*buffer); });
        counters.cpu_ns.store(used_before + base::read_clock_ns(CLOCK_THREAD_CPUTIME_ID),
                              std::memory_order_relaxed);
        const auto late = std::max<int64_t>(0, (Clock::now() - deadline) / period);
        if (buffer && late > 0) count_loss(*buffer, counters.missed, &LossCounts::missed, uint64_t(late));
        deadline += period * (late + 1);
    }
}

// True when it is time to stop.
bool Sampler::wait_until(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return stop_requested_.wait_until(lock, deadline, [this] { return is_stopping_; });
}

void Sampler::take_round(record::ThreadBuffer& buffer) {
    forget_names_if_gone();
    count(counters.rounds);
    if (!stacks_.find_threads()) return count_loss(buffer, counters.torn, &LossCounts::torn);
    ++round_;
    for (const StackReader::Thread& thread : stacks_.threads())
        if (thread.id.tid != 0) take_stack(buffer, thread);
    end_threads_that_left(buffer);
}

void Sampler::take_stack(record::ThreadBuffer& buffer, const StackReader::Thread& thread) {
    seen_in_round_[thread.id.packed()] = round_;
    uint64_t at = base::ticks();
    const int64_t cpu_ns = clock_.used_by(thread.id.tid);
    if (has_not_run(thread.id, cpu_ns)) {
        names_ = with_stacks_[thread.id.packed()].names;
        return write(buffer, thread.id, at, cpu_ns);
    }
    StackReader::Result result = try_stack(thread);
    if (result == StackReader::Result::torn) {
        at = base::ticks();
        result = try_stack(thread);
    }
    if (result == StackReader::Result::torn) return count_loss(buffer, counters.torn, &LossCounts::torn);
    if (result == StackReader::Result::too_deep)
        return count_loss(buffer, counters.too_deep, &LossCounts::deep_stacks);
    write(buffer, thread.id, at, cpu_ns);
}

// Most threads of most programs wait, and then their stack is what it was: the clock tells at a fraction of
// the price of looking.
bool Sampler::has_not_run(record::OtherThread thread, int64_t cpu_ns) const {
    const auto last = with_stacks_.find(thread.packed());
    return cpu_ns >= 0 && last != with_stacks_.end() && last->second.cpu_ns == cpu_ns;
}

StackReader::Result Sampler::try_stack(const StackReader::Thread& thread) {
    const StackReader::Result result = stacks_.read_stack(thread);
    if (result == StackReader::Result::too_deep && !stacks_.is_unchanged()) return StackReader::Result::torn;
    if (result != StackReader::Result::whole) return result;
    if (!codes_.name_frames(stacks_.frames(), names_) || !stacks_.is_unchanged())
        return StackReader::Result::torn;
    names_.resize(std::min<size_t>(names_.size(), options_.max_depth));
    return result;
}

void Sampler::write(record::ThreadBuffer& buffer, record::OtherThread thread, uint64_t at, int64_t cpu_ns) {
    if (names_.empty()) {
        const auto last = with_stacks_.find(thread.packed());
        if (last == with_stacks_.end()) return;
        if (tell_end(buffer, thread, last->second)) with_stacks_.erase(last);
    } else {
        LastStack& last = with_stacks_[thread.packed()];
        last.cpu_ns = cpu_ns;
        last.names = names_;
        if (writer_.write(buffer, thread, at, names_)) last.is_told = true;
    }
    count(counters.stacks);
}

// Whether nothing is left to be told: in a pause it cannot be, and is behind it; what is lost otherwise was
// counted.
bool Sampler::tell_end(record::ThreadBuffer& buffer, record::OtherThread thread, const LastStack& last) {
    return !last.is_told || writer_.write(buffer, thread, base::ticks(), {}) || !buffer.discards;
}

void Sampler::end_threads_that_left(record::ThreadBuffer& buffer) {
    std::erase_if(seen_in_round_, [&](const auto& seen) { return seen.second != round_; });
    std::erase_if(with_stacks_, [&](const auto& thread) {
        return !seen_in_round_.contains(thread.first) &&
               tell_end(buffer, record::OtherThread::unpack(thread.first), thread.second);
    });
}

// Between two sessions the recorder may drop all names.
void Sampler::forget_names_if_gone() {
    record::Recorder& recorder = record::Recorder::instance();
    if (oldest_name_ != 0 && recorder.strings().is_valid(oldest_name_)) return;
    codes_.forget();
    writer_.forget();
    forget_stacks_of_waiting_threads();
    oldest_name_ = recorder.intern("kinetograph sampler");
}

void Sampler::forget_stacks_of_waiting_threads() {
    for (auto& [thread, last] : with_stacks_) last.cpu_ns = -1;
}

// Not destroyed at exit: its thread may still run then.
Sampler* running = nullptr;

ThreadsWithStacks stop_running() {
    Sampler* ending = std::exchange(running, nullptr);
    // A forked child has a copy of the object, but not the thread: there is nothing to end or to free.
    if (!ending || !ending->is_of_this_process()) return {};
    ThreadsWithStacks seen = ending->stop();
    delete ending;
    return seen;
}

}  // namespace

bool start_sampling(const SampleOptions& options) {
    NamePlaces places;
    if (!find_places(places)) return false;
    const auto interpreter = reinterpret_cast<uintptr_t>(PyInterpreterState_Get());
    auto fresh = std::make_unique<Sampler>(options, std::move(places), interpreter);
    fresh->start(stop_running());
    running = fresh.release();
    return true;
}

void stop_sampling() {
    stop_running();
}

SampleCounts sample_counts() {
    const auto now = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
    return {now(counters.rounds),   now(counters.stacks), now(counters.torn),
            now(counters.too_deep), now(counters.missed), now(counters.cpu_ns)};
}

}  // namespace kinetograph::collect
