// Names by id, for the life of the process or until forgotten.
//
// Ids are never used twice, so an id from before a `forget_if` can be told from a valid one by comparing
// numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/visibility.h"

namespace kinetograph::base {

class KINETOGRAPH_API StringTable {
public:
    // Called under the table's lock with each new string, before its id is given out; with id 0 when one was
    // refused or shortened.
    using Journal = void (*)(void* context, uint32_t id, std::string_view text);

    // Longer names are cut: a name is a label, and must fit into one slab of a session file.
    static constexpr size_t max_length = 32'768;

    // From any thread. Allocates only for a text it has not seen; without memory for one it is refused, as
    // beyond the limit.
    uint32_t intern(std::string_view text);
    // The id stays valid for ever: for foreign code, which keeps ids and cannot ask.
    uint32_t intern_for_ever(std::string_view text);
    // Empty for an id that is not (or no longer) known. The view lives until the strings are forgotten.
    std::string_view lookup(uint32_t id) const;
    // For those who cannot ask: smaller ids are no longer known.
    const std::atomic<uint32_t>& oldest_valid() const noexcept { return first_valid_; }
    bool is_valid(uint32_t id) const noexcept { return id >= first_valid_.load(std::memory_order_relaxed); }

    // Drops all strings if `nobody_needs_them`, which is asked under the table's lock.
    void forget_if(const std::function<bool()>& nobody_needs_them);
    // Replays every string into `journal`, then calls it for each new one; nullptr ends that.
    void set_journal(Journal journal, void* context);
    // Beyond this many bytes new names all become one: a recorder that runs for weeks must not grow. Takes no
    // lock.
    void set_limit(size_t bytes);

    size_t bytes() const;
    size_t size() const;
    // How many lookups had their name replaced, or shortened; for notes.
    uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
    uint64_t shortened() const { return shortened_.load(std::memory_order_relaxed); }

    std::mutex& mutex() { return mutex_; }

private:
    static constexpr uint32_t first_permanent = uint32_t(1) << 31;
    std::string_view fitted(std::string_view text);
    uint32_t add(std::string_view text);
    uint32_t intern_locked(std::string_view text);
    uint32_t intern_for_ever_locked(std::string_view text);

    mutable std::mutex mutex_;
    std::atomic<uint32_t> first_valid_{1};
    std::deque<std::string> texts_;
    std::unordered_map<std::string_view, uint32_t> ids_;
    std::deque<std::string> permanent_texts_;
    std::unordered_map<std::string_view, uint32_t> permanent_ids_;
    size_t bytes_ = 0;
    std::atomic<size_t> limit_{SIZE_MAX};
    uint32_t overflow_id_ = 0;
    std::atomic<uint64_t> refused_{0};
    std::atomic<uint64_t> shortened_{0};
    Journal journal_ = nullptr;
    void* journal_context_ = nullptr;
};

}  // namespace kinetograph::base
