// The slow paths of thread_buffer.h: a thread's first event, a change of its sessions, its end.
// `extents.cpp` has its memory, `lanes.cpp` its open scopes.
#include "record/thread_buffer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "record/losses.h"
#include "record/recorder.h"
#include "record/told_operators.h"

namespace kinetograph::record {

namespace {

std::string line_of(const char* path) {
    char text[64] = "";
    if (std::FILE* file = std::fopen(path, "re")) {
        if (std::fgets(text, sizeof text, file)) text[std::strcspn(text, "\n")] = 0;
        std::fclose(file);
    }
    return text;
}

// What libraries call the threads that they start. Others are called as the program is, or as its main thread
// was called when they began, which names no thread.
std::string name_by_system() {
    constexpr size_t longest = 15;
    char name[longest + 1] = "";
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) return {};
    const bool is_programs = std::strncmp(name, program_invocation_short_name, longest) == 0;
    return is_programs || line_of("/proc/self/comm") == name ? std::string() : name;
}

}  // namespace

ThreadBuffer* register_thread() noexcept {
    try {
        return &Recorder::instance().register_thread();
    } catch (const std::bad_alloc&) {
        Recorder::instance().count_dropped_without_a_buffer();
        return nullptr;
    }
}

void Recorder::count_dropped_without_a_buffer() {
    dropped_without_a_buffer_.fetch_add(1, std::memory_order_relaxed);
    std::lock_guard lock(mutex_);
    if (session_file_) session_file_->header().dropped.fetch_add(1, std::memory_order_relaxed);
}

ThreadBuffer& Recorder::register_thread() {
    auto fresh = std::make_unique<ThreadBuffer>();
    ThreadBuffer& thread = *fresh;
    thread.tid = int32_t(syscall(SYS_gettid));
    thread.extent = {&no_extent, nullptr};
    thread.lanes.push_back(std::make_unique<Lane>());
    thread.lane = thread.lanes.front().get();
    thread.calls.is_calls = true;
    {
        std::lock_guard lock(mutex_);
        thread.index = next_thread_++;
        if (dead_threads_.capacity() <= threads_.size()) dead_threads_.reserve(2 * threads_.size() + 1);
        threads_.emplace(thread.index, std::move(fresh));
        if (session_file_) count_in_file(thread, journal_.losses());
        introduce(thread);
    }
    current_thread = &thread;
    pthread_setspecific(exit_key_, &thread);
    return thread;
}

// To all who want to know of it, or the thread is unknown again and tries with its next event.
void Recorder::introduce(ThreadBuffer& thread) {
    try {
        living_threads_.insert_or_assign(thread.tid, &thread);
        for (auto& [id, session] : sessions_)
            if (session.options.all_threads) add_member(session, thread, session.recording_since);
        thread.name = given_names_.take(thread.tid);
        thread.has_given_name = !thread.name.empty();
        if (!thread.has_given_name) thread.name = name_by_system();
        thread.is_renamed = !thread.name.empty();
    } catch (const std::bad_alloc&) {
        for (auto& [id, session] : sessions_) session.members.erase(&thread);
        living_threads_.erase(thread.tid);
        threads_.erase(thread.index);
        throw;
    }
}

void Recorder::thread_exits(ThreadBuffer* thread) {
    current_thread = nullptr;
    std::lock_guard lock(mutex_);
    auto known = threads_.find(thread->index);
    if (known == threads_.end() || known->second.get() != thread) return;  // inherited through fork
    thread->alive = false;
    living_threads_.erase(thread->tid);
    thread->died_at = base::ticks();
    dead_threads_.push_back(thread);
    fill(*thread);
    for_each_stack(*thread, [&](Lane& lane) {
        if (lane.depth == 0 || thread->sessions == 0) drop(lane.extent);
    });
    if (thread->told.used_bytes == 0 || thread->sessions == 0) drop(thread->told.extent);
    if (!sessions_.empty()) return;
    trim();
    // The last session could not give back what this thread still had.
    if (pool_.keeps_too_much()) pool_.shrink();
}

// Sessions keep of a thread that is out of their windows what it has lost.
void Recorder::leave_all(ThreadBuffer& thread) {
    for (auto& [id, session] : sessions_) {
        const auto member = session.members.find(&thread);
        if (member == session.members.end()) continue;
        session.losses_of_forgotten =
            session.losses_of_forgotten + (losses_of(thread) - member->second.at_join);
        set_part(thread, member->second, Part::none);
        session.members.erase(member);
        --thread.memberships;
    }
}

void Recorder::forget_dead_threads(uint64_t keep_from) {
    std::erase_if(dead_threads_, [&](ThreadBuffer* thread) {
        if (!thread->extents.empty()) return false;
        if (thread->memberships != 0 && thread->died_at < keep_from) leave_all(*thread);
        if (thread->memberships != 0) return false;
        for_each_stack(*thread, [&](Lane& lane) { drop(lane.extent); });
        drop(thread->told.extent);
        unrecorded_by_dead_threads_ += thread->losses.unrecorded.load(std::memory_order_relaxed);
        count_in_file(*thread, {});
        threads_.erase(thread->index);
        return true;
    });
}

void refresh_control(ThreadBuffer& thread) noexcept {
    try {
        Recorder::instance().refresh_control(thread);
    } catch (const std::bad_alloc&) {
        count_loss(thread, &LossCounts::dropped);
    }
}

void Recorder::refresh_control(ThreadBuffer& thread) {
    const bool is_renamed = take_over_name(thread);
    std::lock_guard lock(mutex_);
    const uint32_t control = thread.control.load(std::memory_order_relaxed);
    if (std::exchange(thread.forget_open_scopes, false)) forget_open_scopes(thread);
    // What cannot be done for want of memory is done with the next event.
    if (thread.move_to_new_memory) move_thread(thread);
    thread.move_to_new_memory = false;
    const bool did_discard = thread.discards;
    thread.discards = (control & control_recording) != 0 && !thread.keeps_records;
    if (thread.discards)
        set_extent_aside(thread);
    else
        take_extent_back(thread);
    if ((is_renamed || did_discard) && session_file_ && !thread.discards) write_thread_name(thread);
    // Renamed again meanwhile: once more with the next event.
    thread.seen_control = thread.is_renamed ? control - control_step : control;
}

void Recorder::forget_open_scopes(ThreadBuffer& thread) {
    for_each_stack(thread, [&](Lane& lane) {
        lane.too_deep = 0;
        if (lane.depth != 0) lane.publish(0);
        offer_lane(thread, lane);
    });
    forget_told_operators(thread.told);
    thread.calls_generation = 0;
    thread.found_calls.clear();
    thread.found_depth = 0;
}

// By the owner, under the lock: where else it counts its losses from now on, or nowhere.
void Recorder::count_in_file(ThreadBuffer& thread, ExtentRef losses) {
    if (losses) pool_.retain(losses);
    thread.file_losses =
        losses ? reinterpret_cast<LossCounts*>(losses.header->bytes()) + thread.index % loss_slots : nullptr;
    thread.dropped_in_file = thread.losses.dropped.load(std::memory_order_relaxed);
    if (const ExtentRef before = std::exchange(thread.file_losses_extent, losses)) pool_.release(before);
}

void Recorder::move_thread(ThreadBuffer& thread) {
    fill(thread);
    count_in_file(thread, session_file_ ? journal_.losses() : ExtentRef{});
    for_each_stack(thread, [&](Lane& lane) {
        if (lane.extent) move_stack(thread, lane, lane.extent.header->capacity);
    });
    if (thread.told.extent) move_told(thread, thread.told.extent.header->capacity);
}

}  // namespace kinetograph::record
