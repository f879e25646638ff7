// The memory of a thread's records: extent after extent, which rings let go of again.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "record/recorder.h"

namespace kinetograph::record {

namespace {

constexpr uint32_t first_extent_units = 126;  // 4 KiB: most threads record little
constexpr size_t max_payload_bytes = 60 * 1024;

}  // namespace

ExtentHeader no_extent{};

// Without an extent the next append comes to next_extent, which is where a paused thread is told apart: the
// way of a recording one is not a step longer for it.
void Recorder::set_extent_aside(ThreadBuffer& thread) {
    if (thread.extent.slab) thread.set_aside = std::exchange(thread.extent, {&no_extent, nullptr});
}

void Recorder::take_extent_back(ThreadBuffer& thread) {
    if (thread.set_aside.slab) thread.extent = std::exchange(thread.set_aside, {});
}

bool next_extent(ThreadBuffer& thread, uint32_t units) noexcept {
    try {
        return Recorder::instance().next_extent(thread, units);
    } catch (const std::bad_alloc&) {
        Recorder::instance().take_memory_to_be_exhausted();
        count_loss(thread, &LossCounts::dropped);
        return false;
    }
}

bool Recorder::next_extent(ThreadBuffer& thread, uint32_t units) {
    if (thread.discards) return false;
    if (may_have_memory(thread)) {
        std::lock_guard lock(mutex_);
        fill(thread);
        advance_rings();
        const bool is_first = thread.next_order == 0;
        const uint32_t wanted = is_first && units < first_extent_units ? first_extent_units : 0;
        if (ExtentRef extent = open_records(thread, wanted)) {
            extent.header->thread = thread.index;
            extent.header->tid = thread.tid;
            extent.header->order = thread.next_order++;
            thread.extent = extent;
            extent_bytes_ += extent.header->total_bytes();
            if (session_file_) write_thread_name(thread);
            return true;
        }
        count_in_header(thread);
    }
    count_loss(thread, &LossCounts::dropped);
    return false;
}

// Memory may have come back; to ask for each event that is lost would take microseconds, and with a file
// more.
bool Recorder::may_have_memory(const ThreadBuffer& thread) const {
    return !pool_.is_exhausted() || only_rings_.load(std::memory_order_relaxed) ||
           thread.losses.dropped.load(std::memory_order_relaxed) % 1024 == 0;
}

// What the thread has lost, with what it loses now, where the file had no room for its own counts.
void Recorder::count_in_header(ThreadBuffer& thread) {
    if (!session_file_ || thread.file_losses) return;
    const uint64_t dropped = thread.losses.dropped.load(std::memory_order_relaxed) + 1;
    session_file_->header().dropped.fetch_add(dropped - std::exchange(thread.dropped_in_file, dropped),
                                              std::memory_order_relaxed);
}

// The place in the list first: an extent that is open and not in it would be lost.
ExtentRef Recorder::open_records(ThreadBuffer& thread, uint32_t units) {
    OwnedExtent& owned = thread.extents.emplace_back();
    try {
        owned.ref = open_extent(ExtentKind::records, units);
    } catch (const std::bad_alloc&) {
    }
    if (!owned.ref) {
        thread.extents.pop_back();
        return {};
    }
    owned.opened_at = owned.ref.header->anchor.ticks;
    owned.bytes = owned.ref.header->total_bytes();
    return owned.ref;
}

// Rings go on when there is no more memory: they have less of the past then.
ExtentRef Recorder::open_extent(ExtentKind kind, uint32_t units) {
    ExtentRef extent = pool_.open_extent(kind, units);
    while (!extent && forget_oldest()) extent = pool_.open_extent(kind, units);
    return extent;
}

// False when somebody wants all there is, or nothing is left that could be forgotten.
bool Recorder::forget_oldest() {
    if (!only_rings_.load(std::memory_order_relaxed) || filled_.empty()) return false;
    const uint64_t oldest = filled_.front().at;
    for (auto& [id, session] : sessions_) session.keep_from = std::max(session.keep_from, oldest);
    trim();
    return true;
}

// Each extent of a session file tells whose it is: a ring may have let go of all the others.
void Recorder::write_thread_name(ThreadBuffer& thread) {
    ExtentHeader* extent = thread.extent.header;
    const uint32_t used = extent->used(std::memory_order_relaxed);
    if (used == extent->capacity || !strings_.is_valid(thread.name_id)) return;
    const uint64_t now = base::ticks();
    extent->records()[used] = {now, now, thread.name_id, RecordKind::thread_name, 0, 0, 0, 0, 0, 0};
    publish(thread, 1);
}

// The thread is done with its extent: full, or the thread ends, or it moves.
void Recorder::fill(ThreadBuffer& thread) {
    take_extent_back(thread);
    if (!thread.extent.slab) return;
    filled_.push_back({&thread, 0, 0});  // first, for this may fail
    OwnedExtent& owned = thread.extents.back();
    extent_bytes_ -= owned.bytes;
    pool_.close_extent(thread.extent);
    owned.used = thread.extent.header->used(std::memory_order_relaxed);
    owned.is_complete = true;
    owned.bytes = thread.extent.header->total_bytes();
    extent_bytes_ += owned.bytes;
    pool_.rest(thread.extent);
    filled_.back() = {&thread, owned.bytes, base::ticks()};
    thread.extent = {&no_extent, nullptr};
}

// Ring sessions let go of what is too old or too much.
void Recorder::advance_rings() {
    for (auto& [id, session] : sessions_) advance_ring(session);
    trim();
}

// 0: as much as there is. While it is held, what it had then or all that may be had without files: a device
// may be waited for as long as it likes, while threads go on.
size_t Recorder::ring_room(const Session& session) {
    const SessionOptions& options = session.options;
    if (session.ring_held_at == 0 || !options.is_ring()) return options.ring_bytes;
    return std::max<size_t>({options.ring_bytes, session.ring_held_bytes, options.limits.memory_bytes / 2});
}

void Recorder::advance_ring(Session& session) {
    const uint64_t asked_at = session.ring_held_at ? session.ring_held_at : base::ticks();
    if (session.options.ring_ns != 0)
        session.keep_from =
            std::max(session.keep_from, base::ticks_before(asked_at, session.options.ring_ns));
    const size_t room = ring_room(session);
    size_t bytes = extent_bytes_;
    for (const Filled& filled : filled_) {
        if (room == 0 || bytes + slab_bytes <= room) break;
        session.keep_from = std::max(session.keep_from, filled.at);
        bytes -= filled.bytes;
    }
}

// Gives back what ended before any session wants it.
void Recorder::trim() {
    uint64_t keep_from = UINT64_MAX;
    for (const auto& [id, session] : sessions_)
        keep_from = std::min(keep_from, session.has_begun ? session.keep_from : base::ticks());
    if (filled_.empty() || filled_.front().at > keep_from) return forget_dead_threads(keep_from);
    if (session_file_ && !sessions_.empty())
        session_file_->header().keep_from.store(keep_from, std::memory_order_relaxed);
    while (!filled_.empty() && filled_.front().at <= keep_from) {
        const Filled& oldest = filled_.front();
        extent_bytes_ -= oldest.bytes;
        pool_.release(oldest.thread->extents.front().ref);
        oldest.thread->extents.pop_front();
        filled_.pop_front();
    }
    forget_dead_threads(keep_from);
}

// Keeps what the owners may still be writing to; they give it back themselves.
void Recorder::rest_after_last_session() {
    active.fetch_and(~uint32_t(active_sessions), std::memory_order_relaxed);
    trim();
    // A file is only for what does not fit into memory: the next session begins in memory again.
    if (pool_.uses_files())
        for (auto& [index, thread] : threads_) {
            const ExtentRef& held = thread->set_aside.slab ? thread->set_aside : thread->extent;
            if (held.slab && held.slab->segment->file != 0) move_to_new_memory(*thread);
        }
    pool_.shrink();
}

bool append_with_payload(ThreadBuffer& thread, Record record, const DevicePlace* place, const char* payload,
                         size_t payload_bytes) noexcept {
    const bool fits = payload_bytes <= max_payload_bytes;
    if (!fits) {
        count_loss(thread, &LossCounts::oversized);
        payload_bytes = 0;
    }
    const uint32_t length = uint32_t(payload_bytes);
    const size_t place_bytes = place ? sizeof *place : 0;
    const size_t bytes = place_bytes + (length || place ? sizeof length + length : 0);
    const uint32_t units = 1 + uint32_t((bytes + unit_bytes - 1) / unit_bytes);
    Record* room = room_for(thread, units);
    if (!room) return false;
    record.payload = uint16_t(units - 1);
    *room = record;
    auto* behind = reinterpret_cast<std::byte*>(room + 1);
    if (place) std::memcpy(behind, place, place_bytes);
    if (bytes) std::memcpy(behind + place_bytes, &length, sizeof length);
    if (length) std::memcpy(behind + place_bytes + sizeof length, payload, length);
    publish(thread, units);
    return fits;
}

void append_operator(ThreadBuffer& thread, Record record, const Operator& told, const char* inputs,
                     size_t inputs_bytes) noexcept {
    if (inputs_bytes > max_payload_bytes) {
        count_loss(thread, &LossCounts::oversized);
        inputs_bytes = 0;
    }
    if (told.tells_nothing() && inputs_bytes == 0) return append(thread, record);
    record.flags |= flag_operator;
    if (told.is_only_a_number() && inputs_bytes == 0) {
        record.correlation = uint32_t(told.sequence);
        return append(thread, record);
    }
    const uint32_t length = uint32_t(inputs_bytes);
    const size_t text_bytes = length ? sizeof length + length : 0;
    const uint32_t units = 2 + uint32_t((text_bytes + unit_bytes - 1) / unit_bytes);
    Record* room = room_for(thread, units);
    if (!room) return;
    record.payload = uint16_t(units - 1);
    *room = record;
    std::memcpy(room + 1, &told, sizeof told);
    auto* text = reinterpret_cast<std::byte*>(room + 2);
    if (length) std::memcpy(text, &length, sizeof length);
    if (length) std::memcpy(text + sizeof length, inputs, length);
    publish(thread, units);
}

void append_device_span(ThreadBuffer& thread, const Record& record, const DevicePlace& place,
                        const char* payload, size_t payload_bytes) noexcept {
    const bool discards = thread.discards;
    Recorder& recorder = Recorder::instance();
    if (discards && !recorder.keep_in_pause(thread, int64_t(record.start))) return;
    append_with_payload(thread, record, &place, payload, payload_bytes);
    if (discards) recorder.discard_again(thread);
}

bool Recorder::keep_in_pause(ThreadBuffer& thread, int64_t start_ns) {
    std::lock_guard lock(mutex_);
    const bool is_wanted = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
        return entry.second.is_paused && entry.second.has_begun && start_ns <= entry.second.paused_at_ns;
    });
    if (!is_wanted) return false;
    thread.discards = false;
    take_extent_back(thread);
    return true;
}

void Recorder::discard_again(ThreadBuffer& thread) {
    std::lock_guard lock(mutex_);
    thread.discards = true;
    set_extent_aside(thread);
}

}  // namespace kinetograph::record
