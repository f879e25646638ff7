#include "collect/cupti/call_log.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr size_t most_open = 16;  // callbacks of the program may call CUDA again

bool is_on(uint32_t life) {
    return life % 2 == 1;
}

}  // namespace

struct CallLog::OpenCall {
    bool is_driver;
    uint32_t callback;
    uint32_t correlation;
    uint64_t start = 0;
};

struct CallLog::Thread {
    const int32_t tid = int32_t(gettid());
    // Of this thread only.
    OpenCall open[most_open] = {};
    size_t depth = 0;
    uint32_t life = 0;  // of the log, in which they were opened
    std::array<std::vector<uint64_t>, external_ids> ids;
    // Shared with who hands over.
    std::mutex mutex;
    std::unique_ptr<Chunk> chunk;
};

// Without a destructor: those of the program's own thread_locals may run behind ours, and call CUDA.
struct CallLog::Known {
    const CallLog* log = nullptr;
    Thread* thread = nullptr;
    bool has_ended = false;
};

struct CallLog::ThisThread {
    explicit ThisThread(Known& known) : known(known) {}
    ~ThisThread() {
        known = {nullptr, nullptr, true};
        // In a forked child the locks are as another thread of the parent may have left them.
        if (log && getpid() == log->process_) log->leave(thread);
    }

    Known& known;
    CallLog* log = nullptr;
    std::shared_ptr<Thread> thread;
};

CallLog::CallLog(Buffers& buffers) : buffers_(buffers), process_(getpid()) {
    filled_.reserve(most_chunks);  // so that chunks move without failing, also where a thread ends
    empty_.reserve(most_chunks);
}
CallLog::~CallLog() = default;

CallLog::Thread* CallLog::this_thread() {
    static constinit thread_local Known known;
    if (known.log == this) [[likely]]
        return known.thread;
    return known.has_ended ? nullptr : enter(known);
}

CallLog::Thread* CallLog::enter(Known& known) {
    thread_local ThisThread mine(known);
    auto thread = std::make_shared<Thread>();
    {
        std::lock_guard lock(threads_mutex_);
        threads_.push_back(thread);
    }
    mine.log = this;
    mine.thread = std::move(thread);
    known = {this, mine.thread.get(), false};
    return known.thread;
}

void CallLog::switch_on() {
    life_.fetch_or(1, std::memory_order_relaxed);
}

void CallLog::switch_off() {
    if (is_on(life_.load(std::memory_order_relaxed))) life_.fetch_add(1, std::memory_order_relaxed);
}

void CallLog::begin(bool is_driver, uint32_t callback, uint32_t correlation) noexcept {
    const uint32_t life = life_.load(std::memory_order_relaxed);
    if (!is_on(life)) return;
    try {
        if (Thread* thread = this_thread())
            open(*thread, life, {is_driver, callback, correlation});
        else
            drop();
    } catch (...) {
        drop();
    }
}

void CallLog::open(Thread& thread, uint32_t life, OpenCall call) {
    if (std::exchange(thread.life, life) != life) thread.depth = 0;
    // The runtime's calls are made of the driver's, under the same number: those are not told again.
    if (thread.depth != 0 && thread.open[thread.depth - 1].correlation == call.correlation) return;
    if (thread.depth == most_open) return drop();
    call.start = base::ticks();
    thread.open[thread.depth++] = call;
}

void CallLog::end(bool is_driver, uint32_t callback, uint32_t correlation) noexcept {
    const uint64_t now = base::ticks();
    const uint32_t life = life_.load(std::memory_order_relaxed);
    if (!is_on(life)) return;
    try {
        Thread* thread = this_thread();
        if (!thread || thread->life != life) return;
        const OpenCall* open = close(*thread, {is_driver, callback, correlation});
        if (open) add(*thread, {open->start, now, callback, correlation, thread->tid, is_driver, {}, {}});
    } catch (...) {
        drop();
    }
}

// Above it are those whose end was not seen.
const CallLog::OpenCall* CallLog::close(Thread& thread, const OpenCall& call) {
    for (size_t at = thread.depth; at-- > 0;) {
        const OpenCall& open = thread.open[at];
        if (open.correlation != call.correlation || open.is_driver != call.is_driver ||
            open.callback != call.callback)
            continue;
        thread.depth = at;
        return &open;
    }
    return nullptr;
}

void CallLog::add(Thread& thread, LoggedCall call) {
    for (size_t whose = 0; whose < external_ids; ++whose) {
        call.has_id[whose] = !thread.ids[whose].empty();
        if (call.has_id[whose]) call.ids[whose] = thread.ids[whose].back();
    }
    std::lock_guard lock(thread.mutex);
    if (!thread.chunk && !(thread.chunk = empty_chunk())) return drop();
    thread.chunk->calls[thread.chunk->count++] = call;
    if (thread.chunk->count == calls_per_chunk) queue(std::move(thread.chunk));
}

void CallLog::push(ExternalId whose, uint64_t id) {
    if (Thread* thread = this_thread()) thread->ids[size_t(whose)].push_back(id);
}

void CallLog::pop(ExternalId whose) {
    Thread* thread = this_thread();
    if (thread && !thread->ids[size_t(whose)].empty()) thread->ids[size_t(whose)].pop_back();
}

void CallLog::hand_over() {
    std::lock_guard lock(threads_mutex_);
    for (const auto& thread : threads_) {
        std::lock_guard of_thread(thread->mutex);
        if (thread->chunk) queue(std::move(thread->chunk));
    }
}

void CallLog::leave(const std::shared_ptr<Thread>& thread) {
    {
        std::lock_guard lock(thread->mutex);
        if (thread->chunk) queue(std::move(thread->chunk));
    }
    std::lock_guard lock(threads_mutex_);
    std::erase(threads_, thread);
}

std::unique_ptr<CallLog::Chunk> CallLog::empty_chunk() {
    std::lock_guard lock(chunks_mutex_);
    if (!empty_.empty()) {
        std::unique_ptr<Chunk> chunk = std::move(empty_.back());
        empty_.pop_back();
        return chunk;
    }
    if (chunks_ >= allowed_ / 2) {
        is_short_.store(true, std::memory_order_relaxed);
        buffers_.wake();
    }
    if (chunks_ >= allowed_) return nullptr;
    auto chunk = std::make_unique<Chunk>();
    ++chunks_;
    return chunk;
}

void CallLog::limit_to(size_t bytes) {
    std::lock_guard lock(chunks_mutex_);
    allowed_ = std::clamp(bytes / sizeof(Chunk), fewest_chunks, most_chunks);
    free_down_to(allowed_);
}

void CallLog::shrink() {
    std::lock_guard lock(chunks_mutex_);
    free_down_to(kept_chunks);
}

// As far as nobody has them. Under the lock of the chunks.
void CallLog::free_down_to(size_t count) {
    while (!empty_.empty() && chunks_ > count) {
        empty_.pop_back();
        --chunks_;
    }
}

void CallLog::queue(std::unique_ptr<Chunk> chunk) {
    {
        std::lock_guard lock(chunks_mutex_);
        filled_.push_back(std::move(chunk));
        ++queued_;
    }
    buffers_.wake();
}

std::unique_ptr<CallLog::Chunk> CallLog::take() {
    std::lock_guard lock(chunks_mutex_);
    if (filled_.empty()) return nullptr;
    std::unique_ptr<Chunk> chunk = std::move(filled_.front());
    filled_.erase(filled_.begin());
    return chunk;
}

void CallLog::give_back(std::unique_ptr<Chunk> chunk) {
    chunk->count = 0;
    {
        std::lock_guard lock(chunks_mutex_);
        empty_.push_back(std::move(chunk));
        ++given_back_;
    }
    decoded_.notify_all();
}

void CallLog::wait_until_decoded() {
    std::unique_lock lock(chunks_mutex_);
    decoded_.wait(lock, [this, wanted = queued_] { return given_back_ >= wanted; });
}

}  // namespace kinetograph::collect::cupti
