// The pool's own thread, which makes memory ready before the program's threads come to it.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/quiet_thread.h"
#include "record/memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace kinetograph::record {

namespace {

constexpr auto keeper_linger = std::chrono::milliseconds(100);

// A thread's first exception needs memory of the C++ runtime's own, without which the C library ends the
// program. So those who can do without memory ask first, in a way that throws nothing.
bool has_memory_to_spare() noexcept {
    constexpr size_t enough = 512 * 1024;
    void* volatile probe = std::malloc(enough);  // or a compiler may leave both calls out
    const bool is_there = probe != nullptr;
    std::free(probe);
    return is_there;
}

}  // namespace

void populate(std::byte* memory, size_t bytes) {
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
    // Before Linux 5.14: touch each page. Nobody else sees this memory yet.
    for (size_t at = 0; at < bytes; at += 4096) reinterpret_cast<volatile char*>(memory)[at] = 0;
}

std::unique_ptr<Segment> SlabPool::map_segment_or_none(size_t bytes) {
    if (!has_memory_to_spare()) return refuse(no_memory);
    try {
        return map_segment(bytes);
    } catch (const std::bad_alloc&) {
        return refuse(no_memory);
    }
}

void SlabPool::wake_keeper() {
    if (keeper_runs_) {
        keeper_wakes_->notify_one();
        return;
    }
    if (is_forking_) return;
    const base::AllSignalsBlocked blocked;  // the program's signals are not for this thread
    try {
        std::thread(&SlabPool::keeper_loop, this, keeper_generation_).detach();
        keeper_runs_ = true;
        ++keepers_;
    } catch (const std::exception&) {
        // No thread to be had, or no memory for one: pages are faulted in by the program's threads instead.
        // Slower, not wrong.
    }
}

void SlabPool::keeper_loop(uint64_t generation) {
    pthread_setname_np(pthread_self(), "kg-keeper");
    std::unique_lock lock(mutex_);
    keep(lock, generation);
    last_keeper_tid_ = gettid();
    --keepers_;
    keeper_ended_->notify_all();
}

void SlabPool::keep(std::unique_lock<std::mutex>& lock, uint64_t generation) {
    while (generation == keeper_generation_) {
        if (keeper_works(lock)) continue;  // it cannot fail; without memory there is no work
        const bool woken = keeper_wakes_->wait_for(lock, keeper_linger) == std::cv_status::no_timeout;
        if (!woken && generation == keeper_generation_) {
            keeper_runs_ = false;
            return;
        }
    }
}

// Of those that will be taken next. A thread may take one meanwhile and write to it: making its pages ready
// changes nothing in them.
bool SlabPool::make_slabs_ready(std::unique_lock<std::mutex>& lock) {
    std::array<Slab*, low_water_slabs> unready;
    size_t count = 0;
    const size_t end = free_.size() - std::min(free_.size(), 2 * low_water_slabs);
    for (size_t i = free_.size(); i-- > end && count < unready.size();)
        if (!std::exchange(free_[i]->is_ready, true)) unready[count++] = free_[i];
    if (count == 0) return false;
    for (size_t i = 0; i < count; ++i) ++unready[i]->segment->slabs_in_hand;
    lock.unlock();
    for (size_t i = 0; i < count; ++i) madvise(unready[i]->memory, slab_bytes, MADV_POPULATE_WRITE);
    lock.lock();
    for (size_t i = 0; i < count; ++i) --unready[i]->segment->slabs_in_hand;
    unmap_left();
    return true;
}

// The pool gave it up meanwhile. Had it unmapped that itself, the next one to map memory there would have
// found a stranger at work in it.
void SlabPool::unmap_left() {
    std::erase_if(left_, [](const std::unique_ptr<Segment>& segment) {
        if (segment->slabs_in_hand != 0) return false;
        munmap(segment->memory, segment->bytes);
        return true;
    });
}

void SlabPool::end_keepers() {
    std::unique_lock lock(mutex_, std::adopt_lock);
    is_forking_ = true;
    keeper_runs_ = false;
    ++keeper_generation_;
    keeper_wakes_->notify_all();
    const bool is_waiting = keepers_ != 0;
    keeper_ended_->wait(lock, [this] { return keepers_ == 0; });
    // It has said so a moment before the kernel counts it no more.
    for (int i = 0; is_waiting && i < 10'000 && tgkill(getpid(), last_keeper_tid_, 0) == 0; ++i)
        std::this_thread::yield();
    lock.release();
}

// Does one piece of work; false when there is none.
bool SlabPool::keeper_works(std::unique_lock<std::mutex>& lock) {
    if (!resting_.empty()) {
        // The data stays in the page cache: a slab that is written or read again is merely faulted in again.
        for (const ExtentRef& extent : resting_) madvise(extent.slab->memory, slab_bytes, MADV_DONTNEED);
        resting_.clear();
        return true;
    }
    if (make_slabs_ready(lock)) return true;
    if (free_.size() >= low_water_slabs) return false;
    // Threads may have it from now on: one that comes before its pages are ready faults them in itself, which
    // is better than to be told that there is no memory.
    std::unique_ptr<Segment> segment = map_segment_or_none(segment_bytes);
    return segment && adopt(std::move(segment));
}

}  // namespace kinetograph::record
