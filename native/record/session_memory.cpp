// A session file under the recorder's memory: threads move into it and out again, and names are journalled.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "record/recorder.h"

namespace kinetograph::record {

void Recorder::open_session_file(const std::string& directory) {
    {
        std::lock_guard lock(mutex_);
        if (session_file_) {
            if (session_file_->directory() == directory) {
                ++session_file_users_;
                return;
            }
            throw std::invalid_argument("this process already records to " + session_file_->path());
        }
        session_file_ = std::make_unique<SessionFile>(directory, base::measure_anchor(), process_name_);
        session_file_->header().scope_cost_ns = scope_cost_ns();
        names_refused_before_file_ = strings_.refused();
        names_shortened_before_file_ = strings_.shortened();
        ++session_file_users_;
        pool_.use_session_file(session_file_->descriptor(), &session_file_->header().file_bytes);
        move_all_to_new_memory();
        pool_.prepare();  // a small beginning: what is journalled first would take a whole segment
    }
    strings_.set_journal(
        [](void* recorder, uint32_t id, std::string_view text) {
            static_cast<Recorder*>(recorder)->journal_string(id, text);
        },
        this);
}

// The owner of the buffer moves itself, the next time it records.
void Recorder::move_to_new_memory(ThreadBuffer& thread) {
    thread.move_to_new_memory = true;
    thread.control.fetch_add(control_step, std::memory_order_relaxed);
}

void Recorder::move_all_to_new_memory() {
    for (auto& [index, thread] : threads_) move_to_new_memory(*thread);
}

// Id 0 is no name: the counts of those that were refused or cut have changed.
void Recorder::journal_string(uint32_t id, std::string_view text) {
    std::lock_guard lock(mutex_);
    if (!session_file_) return;
    if (id != 0) return journal_.add_name(id, text);
    SessionFileHeader& header = session_file_->header();
    header.names_refused.store(strings_.refused() - names_refused_before_file_, std::memory_order_relaxed);
    header.names_shortened.store(strings_.shortened() - names_shortened_before_file_,
                                 std::memory_order_relaxed);
}

// Whether any session that the file is for records.
void Recorder::journal_pauses(uint64_t at) {
    if (!session_file_) return;
    const bool records = std::any_of(sessions_.begin(), sessions_.end(), [](const auto& entry) {
        return !entry.second.options.session_directory.empty() && !entry.second.is_paused;
    });
    records ? journal_.resume(at) : journal_.pause(at);
}

// A scope that was open at the pause before, and still is, is the same item.
void Recorder::journal_open(const ThreadBuffer& thread, Membership& membership,
                            const std::vector<OpenScopeCopy>& open) {
    std::unordered_map<uint64_t, LeftOpenItem*> journalled;
    for (const OpenScopeCopy& scope : open) {
        const auto known = membership.journalled.find(scope.start);
        LeftOpenItem* item = known == membership.journalled.end() ? nullptr : known->second;
        if (item && item->name == scope.name && item->lane == scope.lane)
            store_in_file(item->seen_until, scope.seen_until);
        else
            item = journal_.add_left_open(thread.index, thread.tid, scope);
        if (item) journalled[scope.start] = item;
    }
    membership.journalled = std::move(journalled);
}

// Called under the lock. The mapping lives on while buffers or recordings are in it; the caller keeps the
// names that are in it and removes the file once its trace is built.
void Recorder::close_session_file_if_unused(Held& held) {
    if (!session_file_ || session_file_users_ != 0) return;
    held.journal = journal_.take();
    held.file = std::move(session_file_);
    pool_.use_session_file(-1);
    move_all_to_new_memory();
}

void Recorder::set_process_name(std::string_view name) {
    std::lock_guard lock(mutex_);
    process_name_ = name;
    if (session_file_) session_file_->set_process_name(name);
}

void Recorder::mark_end() {
    std::lock_guard lock(mutex_);
    if (session_file_) session_file_->header().ended.store(base::ticks(), std::memory_order_relaxed);
}

}  // namespace kinetograph::record
