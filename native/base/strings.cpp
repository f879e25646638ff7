#include "base/strings.h"

namespace kinetograph::base {

namespace {

constexpr size_t overhead_per_string = 96;  // deque slot, heap header, map node: measured, rounded up

// Cuts at a character, not inside one.
std::string_view cut(std::string_view text) {
    size_t end = StringTable::max_length;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end);
}

}  // namespace

std::string_view StringTable::fitted(std::string_view text) {
    if (text.size() <= max_length) return text;
    shortened_.fetch_add(1, std::memory_order_relaxed);
    if (journal_) journal_(journal_context_, 0, {});
    return cut(text);
}

uint32_t StringTable::intern_for_ever(std::string_view text) {
    std::lock_guard lock(mutex_);
    try {
        return intern_for_ever_locked(fitted(text));
    } catch (const std::bad_alloc&) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return 0;  // never a name's: the event has an empty one
    }
}

uint32_t StringTable::intern(std::string_view text) {
    std::lock_guard lock(mutex_);
    try {
        return intern_locked(fitted(text));
    } catch (const std::bad_alloc&) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return overflow_id_;
    }
}

uint32_t StringTable::intern_for_ever_locked(std::string_view text) {
    if (auto found = permanent_ids_.find(text); found != permanent_ids_.end()) return found->second;
    const uint32_t id = first_permanent + uint32_t(permanent_texts_.size());
    const std::string& kept = permanent_texts_.emplace_back(text);
    if (journal_) journal_(journal_context_, id, kept);
    permanent_ids_.emplace(kept, id);
    return id;
}

uint32_t StringTable::intern_locked(std::string_view text) {
    if (auto found = ids_.find(text); found != ids_.end()) return found->second;
    if (bytes_ + text.size() + overhead_per_string <= limit_) return add(text);
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (journal_) journal_(journal_context_, 0, {});
    if (overflow_id_ == 0) overflow_id_ = add("<name not kept: too many distinct names>");
    return overflow_id_;
}

uint32_t StringTable::add(std::string_view text) {
    const uint32_t id = first_valid_.load(std::memory_order_relaxed) + uint32_t(texts_.size());
    const std::string& kept = texts_.emplace_back(text);
    bytes_ += text.size() + overhead_per_string;
    if (journal_) journal_(journal_context_, id, kept);
    ids_.emplace(kept, id);
    return id;
}

std::string_view StringTable::lookup(uint32_t id) const {
    std::lock_guard lock(mutex_);
    if (id >= first_permanent) {
        const uint32_t index = id - first_permanent;
        return index < permanent_texts_.size() ? permanent_texts_[index] : std::string_view();
    }
    const uint32_t first = first_valid_.load(std::memory_order_relaxed);
    if (id < first || id - first >= texts_.size()) return {};
    return texts_[id - first];
}

void StringTable::forget_if(const std::function<bool()>& nobody_needs_them) {
    std::lock_guard lock(mutex_);
    if (!nobody_needs_them()) return;
    first_valid_.fetch_add(uint32_t(texts_.size()), std::memory_order_relaxed);
    ids_.clear();
    texts_.clear();
    bytes_ = 0;
    overflow_id_ = 0;
}

void StringTable::set_journal(Journal journal, void* context) {
    std::lock_guard lock(mutex_);
    journal_ = journal;
    journal_context_ = context;
    if (!journal) return;
    uint32_t id = first_valid_.load(std::memory_order_relaxed);
    for (const std::string& text : texts_) journal(context, id++, text);
    id = first_permanent;
    for (const std::string& text : permanent_texts_) journal(context, id++, text);
}

void StringTable::set_limit(size_t bytes) {
    limit_.store(bytes, std::memory_order_relaxed);
}

size_t StringTable::bytes() const {
    std::lock_guard lock(mutex_);
    return bytes_;
}

size_t StringTable::size() const {
    std::lock_guard lock(mutex_);
    return texts_.size();
}

}  // namespace kinetograph::base
