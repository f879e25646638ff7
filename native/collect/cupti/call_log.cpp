#include "collect/cupti/call_log.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
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

// A thread's chunk, which it takes out to write to, and anybody takes away. A lock would have the thread wait
// at each call until what it wrote has reached memory that another processor had.
class CallLog::Slot {
public:
    ~Slot() { take_away(); }

    // By the thread, which puts it back at once; nullptr where it has none.
    std::unique_ptr<Chunk> take_out() {
        return std::unique_ptr<Chunk>(chunk_.exchange(out, std::memory_order_acquire));
    }

    void put_back(std::unique_ptr<Chunk> chunk) { chunk_.store(chunk.release(), std::memory_order_release); }

    // In the thread itself: whether it was interrupted while it had the chunk.
    bool is_out() const { return chunk_.load(std::memory_order_relaxed) == out; }

    // By anybody. Sleeping, since the one who has it may need this very processor to put it back.
    std::unique_ptr<Chunk> take_away() {
        Chunk* chunk = chunk_.load(std::memory_order_relaxed);
        while (chunk == out || !chunk_.compare_exchange_weak(chunk, nullptr, std::memory_order_acquire)) {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            chunk = chunk_.load(std::memory_order_relaxed);
        }
        return std::unique_ptr<Chunk>(chunk);
    }

private:
    static inline Chunk* const out = reinterpret_cast<Chunk*>(alignof(Chunk));
    std::atomic<Chunk*> chunk_{nullptr};
};

struct CallLog::Thread {
    const int32_t tid = int32_t(gettid());
    // Of this thread only.
    OpenCall open[most_open] = {};
    size_t depth = 0;
    uint32_t life = 0;  // of the log, in which they were opened
    std::array<std::vector<uint64_t>, external_ids> ids;
    Slot chunk;
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
        if (open) add(*thread, {open->start, now, correlation, uint16_t(callback), is_driver, 0});
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

// Nothing may throw while the chunk is out: others wait for it. A handler of a signal may call CUDA
// meanwhile, and so may the program's allocator.
void CallLog::add(Thread& thread, LoggedCall call) noexcept {
    if (thread.chunk.is_out()) return drop();
    for (size_t whose = 0; whose < external_ids; ++whose)
        if (!thread.ids[whose].empty()) call.has_ids |= uint8_t(1U << whose);
    std::unique_ptr<Chunk> chunk = thread.chunk.take_out();
    if (chunk && chunk->count + call.entries() > calls_per_chunk) queue(std::move(chunk));
    if (!chunk) chunk = empty_chunk(thread.tid);
    if (chunk)
        write(*chunk, thread, call);
    else
        drop();
    thread.chunk.put_back(std::move(chunk));
}

void CallLog::write(Chunk& chunk, const Thread& thread, const LoggedCall& call) {
    chunk.calls[chunk.count++] = call;
    for (size_t whose = 0; whose < external_ids; ++whose)
        if (call.has_id(whose)) chunk.calls[chunk.count++].start = thread.ids[whose].back();
}

void CallLog::push(ExternalId whose, uint64_t id) {
    if (Thread* thread = this_thread()) thread->ids[size_t(whose)].push_back(id);
}

void CallLog::pop(ExternalId whose) {
    Thread* thread = this_thread();
    if (thread && !thread->ids[size_t(whose)].empty()) thread->ids[size_t(whose)].pop_back();
}

void CallLog::hand_over() {
    {
        std::lock_guard lock(threads_mutex_);
        for (const auto& thread : threads_)
            if (auto chunk = thread->chunk.take_away()) queue(std::move(chunk));
    }
    buffers_.wake();
}

void CallLog::leave(const std::shared_ptr<Thread>& thread) {
    if (auto chunk = thread->chunk.take_away()) queue(std::move(chunk));
    std::lock_guard lock(threads_mutex_);
    std::erase(threads_, thread);
}

std::unique_ptr<CallLog::Chunk> CallLog::empty_chunk(int32_t tid) noexcept {
    std::unique_ptr<Chunk> chunk = any_chunk();
    if (chunk) chunk->tid = tid;
    return chunk;
}

std::unique_ptr<CallLog::Chunk> CallLog::any_chunk() noexcept {
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
    std::unique_ptr<Chunk> chunk(new (std::nothrow) Chunk);
    if (chunk) ++chunks_;
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

// To wake another thread may cost the program's some microseconds. One that is not woken looks every second.
void CallLog::queue(std::unique_ptr<Chunk> chunk) noexcept {
    bool is_much = false;
    {
        std::lock_guard lock(chunks_mutex_);
        filled_.push_back(std::move(chunk));
        is_much = ++queued_ % chunks_per_wake == 0;
    }
    if (is_much) buffers_.wake();
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
    buffers_.wake();  // few chunks wake nobody
    decoded_.wait(lock, [this, wanted = queued_] { return given_back_ >= wanted; });
}

}  // namespace kinetograph::collect::cupti
