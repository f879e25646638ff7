#include "record/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "base/fork.h"

namespace kinetograph::record {

std::atomic<uint32_t> active{0};
constinit thread_local ThreadBuffer* current_thread = nullptr;

Recorder::Recorder() {
    pthread_key_create(&exit_key_, [](void* thread) {
        try {
            instance().thread_exits(static_cast<ThreadBuffer*>(thread));
        } catch (const std::bad_alloc&) {
            // Its buffer stays as it is, as if the thread went on and recorded nothing.
        }
    });
    base::on_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

Recorder& Recorder::instance() {
    static Recorder* recorder = new Recorder;
    return *recorder;
}

void Recorder::before_fork() {
    instance().strings_.mutex().lock();
    instance().mutex_.lock();
    instance().pool_.end_keepers();
}

void Recorder::after_fork_in_parent() {
    instance().pool_.allow_keepers();
    instance().mutex_.unlock();
    instance().strings_.mutex().unlock();
}

void Recorder::after_fork_in_child() {
    instance().start_clean_in_child();
    instance().mutex_.unlock();
    instance().strings_.mutex().unlock();
    instance().strings_.set_journal(nullptr, nullptr);
}

void Recorder::start_clean_in_child() {
    active.fetch_and(~active_sessions, std::memory_order_relaxed);
    sessions_.clear();
    filled_.clear();
    static_cast<void>(journal_.take());
    extent_bytes_ = 0;
    leases_ = 0;
    session_file_users_ = 0;
    // Their owners are not here, and each may have been in the middle of changing its lanes, which it does
    // without a lock: what they hold is never touched again, not even to free it.
    for (auto& [index, thread] : threads_)
        if (thread.get() != current_thread) static_cast<void>(thread.release());
    threads_.clear();
    dead_threads_.clear();
    living_threads_.clear();
    given_names_.forget_all();
    if (session_file_) session_file_->abandon();
    session_file_.reset();
    pool_.forget_everything();
    current_thread = nullptr;
    pthread_setspecific(exit_key_, nullptr);
}

void Recorder::suggest_thread_name(std::string_view name) {
    ThreadBuffer& thread = current_thread ? *current_thread : register_thread();
    {
        std::lock_guard lock(mutex_);
        if (thread.has_given_name) return;
        rename(thread, name);
    }
    recording_thread();
}

bool Recorder::suggest_thread_name(int32_t tid, std::string_view name) {
    std::lock_guard lock(mutex_);
    const auto living = living_threads_.find(tid);
    if (living == living_threads_.end()) return false;
    ThreadBuffer& thread = *living->second;
    if (!thread.has_given_name && thread.name != name) rename(thread, name);
    return true;
}

void Recorder::give_thread_name(int32_t tid, std::string_view name) {
    const bool is_own = tid == int32_t(syscall(SYS_gettid));
    if (is_own && !current_thread) register_thread();
    {
        std::lock_guard lock(mutex_);
        const auto living = living_threads_.find(tid);
        if (living == living_threads_.end()) return given_names_.give(tid, name);
        rename(*living->second, name);
        living->second->has_given_name = !name.empty();
    }
    if (is_own) recording_thread();
}

// Under the lock. The owner takes it over with its next event.
void Recorder::rename(ThreadBuffer& thread, std::string_view name) {
    thread.name = name;
    thread.is_renamed = true;
    thread.control.fetch_add(control_step, std::memory_order_relaxed);
}

// By the owner; whether the name is new. Interned without the recorder's lock, which comes after that of the
// strings.
bool Recorder::take_over_name(ThreadBuffer& thread) {
    std::string name;
    bool is_renamed;
    {
        std::lock_guard lock(mutex_);
        name = thread.name;
        is_renamed = std::exchange(thread.is_renamed, false);
    }
    if (is_renamed) thread.name_id = 0;
    if (!name.empty() && !strings_.is_valid(thread.name_id)) thread.name_id = intern(name);
    return is_renamed;
}

void Recorder::set_lane_name(uint16_t lane, std::string_view name) {
    ThreadBuffer* thread = recording_thread();
    if (!thread) return;
    const uint64_t now = base::ticks();
    append(*thread, {now, now, intern(name), RecordKind::lane_name, 0, 0, 0, lane, 0, 0});
}

void tell_note(ThreadBuffer& thread, std::string_view kind, std::string_view text, uint32_t count) {
    const uint64_t now = base::ticks();
    const uint32_t name = Recorder::instance().intern(kind);
    append_with_payload(thread, {now, now, name, RecordKind::note, 0, 0, 0, 0, 0, count}, nullptr,
                        text.data(), text.size());
}

size_t Recorder::thread_count() const {
    std::lock_guard lock(mutex_);
    return threads_.size();
}

size_t Recorder::memory_bytes() const {
    std::lock_guard lock(mutex_);
    return pool_.anonymous_bytes();
}

}  // namespace kinetograph::record
