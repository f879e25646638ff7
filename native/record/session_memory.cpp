// A session file under the recorder's memory: threads move into it and out again, and names are journalled.
#include <cstring>
#include <stdexcept>

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
        ++session_file_users_;
        pool_.use_session_file(session_file_->descriptor());
        move_all_to_new_memory();
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

void Recorder::journal_string(uint32_t id, std::string_view text) {
    std::lock_guard lock(mutex_);
    if (!session_file_) return;
    const uint32_t bytes = uint32_t(sizeof(StringItem) + (text.size() + 7) / 8 * 8);
    uint32_t used = string_extent_ ? string_extent_.header->used() : 0;
    if (!string_extent_ || used + bytes > string_extent_.header->capacity * unit_bytes) {
        string_extent_ = pool_.open_extent(ExtentKind::strings, 0);
        if (!string_extent_) return;
        string_extents_.push_back(string_extent_);
        used = 0;
    }
    const StringItem item{id, uint32_t(text.size())};
    std::memcpy(string_extent_.header->bytes() + used, &item, sizeof item);
    std::memcpy(string_extent_.header->bytes() + used + sizeof item, text.data(), text.size());
    string_extent_.header->state.store(used + bytes, std::memory_order_release);
}

// Called under the lock. The mapping lives on while buffers or recordings are in it; the caller keeps the
// names that are in it and removes the file once its trace is built.
std::shared_ptr<SessionFile> Recorder::close_session_file_if_unused(std::vector<ExtentRef>& retained) {
    if (!session_file_ || session_file_users_ != 0) return nullptr;
    retained.insert(retained.end(), string_extents_.begin(), string_extents_.end());
    string_extents_.clear();
    string_extent_ = {};
    pool_.use_session_file(-1);
    move_all_to_new_memory();
    return std::move(session_file_);
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
