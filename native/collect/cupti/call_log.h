// The program's calls into CUDA, logged by CUPTI's callbacks around them.
//
// CUPTI could record them itself, but then every call costs, also those that are of no interest, and a launch
// is surrounded by some. What is logged here waits in chunks for the decoder, like CUPTI's own records.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "collect/cupti/buffers.h"
#include "collect/cupti/collector.h"

namespace kinetograph::collect::cupti {

inline constexpr size_t external_ids = 2;  // as many as ExternalId has

// Small, for the program's thread writes it, and another one reads it: each of its cache lines moves.
struct LoggedCall {
    uint64_t start, end;  // ticks
    uint32_t correlation;
    uint16_t callback;
    bool is_driver;
    uint8_t has_ids;  // a bit for each ExternalId; behind it stands an entry for each, with the id as `start`

    bool has_id(size_t whose) const { return has_ids >> whose & 1; }
    size_t entries() const { return size_t(1 + std::popcount(has_ids)); }
};
static_assert(sizeof(LoggedCall) == 24);

class CallLog {
public:
    static constexpr size_t calls_per_chunk = 1000;
    static constexpr size_t most_chunks = 2000;  // some 46 MiB

    // Of one thread.
    struct Chunk {
        int32_t tid = 0;
        size_t count = 0;
        std::array<LoggedCall, calls_per_chunk> calls;
    };

    // The decoder waits for buffers, and is woken there. As long as there are threads, so is the log.
    explicit CallLog(Buffers& buffers);
    ~CallLog();

    // No more memory than this from now on; what somebody has he keeps.
    void limit_to(size_t bytes);
    // Frees what nobody has, but for some.
    void shrink();

    // What is open when it is switched off is forgotten.
    void switch_on();
    void switch_off();

    // In threads of the program, under CUPTI's locks.
    void begin(bool is_driver, uint32_t callback, uint32_t correlation) noexcept;
    void end(bool is_driver, uint32_t callback, uint32_t correlation) noexcept;

    // For the calls of this thread from now on. `pop` without a `push` does nothing.
    void push(ExternalId whose, uint64_t id);
    void pop(ExternalId whose);

    // What all threads have logged by now can be taken; the decoder is woken.
    void hand_over();
    // Whether chunks run short, since the last time this was asked: threads that rest may hold most of them.
    bool take_shortage() { return is_short_.exchange(false, std::memory_order_relaxed); }
    // The oldest chunk, or none. Give it back: it is used again.
    std::unique_ptr<Chunk> take();
    void give_back(std::unique_ptr<Chunk> chunk);
    // Until every chunk that can be taken by now has been taken and given back.
    void wait_until_decoded();
    // Calls that there was no room for, since the last time this was asked.
    uint64_t take_dropped() { return dropped_.exchange(0, std::memory_order_relaxed); }

private:
    static constexpr size_t fewest_chunks = 200, kept_chunks = 20, chunks_per_wake = 8;

    struct OpenCall;
    class Slot;
    struct Thread;
    struct Known;
    struct ThisThread;
    // nullptr while a thread ends, when it has left already.
    Thread* this_thread();
    Thread* enter(Known& known);
    void open(Thread& thread, uint32_t life, OpenCall call);
    static const OpenCall* close(Thread& thread, const OpenCall& call);
    void add(Thread& thread, LoggedCall call) noexcept;
    static void write(Chunk& chunk, const Thread& thread, const LoggedCall& call);
    void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
    std::unique_ptr<Chunk> empty_chunk(int32_t tid) noexcept;
    std::unique_ptr<Chunk> any_chunk() noexcept;
    void free_down_to(size_t count);
    void queue(std::unique_ptr<Chunk> chunk) noexcept;
    void leave(const std::shared_ptr<Thread>& thread);

    Buffers& buffers_;
    const int process_;
    std::atomic<uint32_t> life_{0};  // odd: on
    std::atomic<uint64_t> dropped_{0};
    std::atomic<bool> is_short_{false};
    // Taken in this order: that of the threads, that of the chunks.
    std::mutex threads_mutex_;
    std::vector<std::shared_ptr<Thread>> threads_;
    std::mutex chunks_mutex_;
    std::condition_variable decoded_;
    std::vector<std::unique_ptr<Chunk>> filled_, empty_;
    size_t chunks_ = 0, allowed_ = most_chunks;
    uint64_t queued_ = 0, given_back_ = 0;  // so many, in the same order
};

}  // namespace kinetograph::collect::cupti
