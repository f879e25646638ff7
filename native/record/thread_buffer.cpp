// The slow paths of thread_buffer.h: a thread's first event, its next extent, its lanes, its end.
#include "record/thread_buffer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "record/recorder.h"

namespace kinetograph::record {

namespace {

constexpr uint32_t first_extent_units = 126;  // 4 KiB: most threads record little
constexpr uint32_t first_stack_units = 16;    // 32 open scopes
constexpr size_t max_lanes = UINT16_MAX;
constexpr size_t max_payload_bytes = 60 * 1024;

// A thread without memory points here; it has no room, so nobody ever writes to it.
ExtentHeader no_extent{};

OpenScope* scopes_in(ExtentHeader* extent) {
    return reinterpret_cast<OpenScope*>(extent + 1);
}

// Copies word by word: entries are atomics that a stop may read meanwhile.
void copy_scope(OpenScope& to, const OpenScope& from) {
    to.start.store(from.start.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.name_and_meta.store(from.name_and_meta.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

uint32_t name_of(const OpenScope& scope) {
    return uint32_t(scope.name_and_meta.load(std::memory_order_relaxed) >> 32);
}

Lane* idle_lane(ThreadBuffer& thread) {
    while (!thread.idle_lanes.empty()) {
        std::pop_heap(thread.idle_lanes.begin(), thread.idle_lanes.end(), has_higher_number);
        Lane* lane = thread.idle_lanes.back();
        thread.idle_lanes.pop_back();
        lane->offered = false;
        if (lane->depth == 0) return lane;
    }
    return nullptr;
}

// Contexts come and go; keep the table in proportion to the lanes there are.
void forget_old_contexts(ThreadBuffer& thread) {
    if (thread.lane_by_context.size() <= 64 + 4 * thread.lanes.size()) return;
    std::erase_if(thread.lane_by_context, [](const auto& entry) {
        return entry.second->context != entry.first || entry.second->depth == 0;
    });
}

// Nobody must see entries move: for a moment only those below the gap are there.
void remove_scope(Lane& lane, uint32_t position) {
    const uint32_t depth = lane.depth;
    lane.publish(position);
    std::atomic_thread_fence(std::memory_order_release);
    for (uint32_t i = position + 1; i < depth; ++i) copy_scope(lane.entries[i - 1], lane.entries[i]);
    lane.publish(depth - 1);
}

}  // namespace

// ---- threads

ThreadBuffer* register_thread() noexcept {
    try {
        return &Recorder::instance().register_thread();
    } catch (const std::bad_alloc&) {
        Recorder::instance().count_dropped_without_a_buffer();
        return nullptr;
    }
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
        join_sessions_of_all_threads(thread);
    }
    current_thread = &thread;
    pthread_setspecific(exit_key_, &thread);
    return thread;
}

// All of them, or the thread is unknown again and tries with its next event.
void Recorder::join_sessions_of_all_threads(ThreadBuffer& thread) {
    try {
        for (auto& [id, session] : sessions_)
            if (session.options.all_threads) add_member(session, thread, session.recording_since);
    } catch (const std::bad_alloc&) {
        for (auto& [id, session] : sessions_) session.members.erase(&thread);
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
    dead_threads_.push_back(thread);
    fill(*thread);
    for_each_stack(*thread, [&](Lane& lane) {
        if (lane.depth == 0 || thread->sessions == 0) drop_stack(lane);
    });
    if (sessions_.empty()) trim();
}

void Recorder::forget_dead_threads() {
    std::erase_if(dead_threads_, [this](ThreadBuffer* thread) {
        if (thread->memberships != 0 || !thread->extents.empty()) return false;
        for_each_stack(*thread, [&](Lane& lane) { drop_stack(lane); });
        unrecorded_by_dead_threads_ += thread->unrecorded.load(std::memory_order_relaxed);
        threads_.erase(thread->index);
        return true;
    });
}

void refresh_control(ThreadBuffer& thread) noexcept {
    try {
        Recorder::instance().refresh_control(thread);
    } catch (const std::bad_alloc&) {
        thread.dropped.fetch_add(1, std::memory_order_relaxed);
    }
}

void Recorder::refresh_control(ThreadBuffer& thread) {
    refresh_name_id(thread);
    std::lock_guard lock(mutex_);
    const uint32_t control = thread.control.load(std::memory_order_relaxed);
    if (std::exchange(thread.forget_open_scopes, false)) forget_open_scopes(thread);
    // What cannot be done for want of memory is done with the next event.
    if (thread.move_to_new_memory) move_thread(thread);
    thread.move_to_new_memory = false;
    thread.discards = (control & control_recording) != 0 && !thread.keeps_records;
    if (thread.discards)
        set_extent_aside(thread);
    else
        take_extent_back(thread);
    thread.seen_control = control;
}

// Without an extent the next append comes to next_extent, which is where a paused thread is told apart: the
// way of a recording one is not a step longer for it.
void Recorder::set_extent_aside(ThreadBuffer& thread) {
    if (thread.extent.slab) thread.set_aside = std::exchange(thread.extent, {&no_extent, nullptr});
}

void Recorder::take_extent_back(ThreadBuffer& thread) {
    if (thread.set_aside.slab) thread.extent = std::exchange(thread.set_aside, {});
}

void Recorder::forget_open_scopes(ThreadBuffer& thread) {
    for_each_stack(thread, [&](Lane& lane) {
        lane.too_deep = 0;
        if (lane.depth != 0) lane.publish(0);
        offer_lane(thread, lane);
    });
    thread.calls_generation = 0;
    thread.found_calls.clear();
    thread.found_depth = 0;
}

void Recorder::move_thread(ThreadBuffer& thread) {
    fill(thread);
    for_each_stack(thread, [&](Lane& lane) {
        if (lane.extent) move_stack(thread, lane, lane.extent.header->capacity);
    });
}

// ---- extents

bool next_extent(ThreadBuffer& thread, uint32_t units) noexcept {
    try {
        return Recorder::instance().next_extent(thread, units);
    } catch (const std::bad_alloc&) {
        thread.dropped.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
}

bool Recorder::next_extent(ThreadBuffer& thread, uint32_t units) {
    if (thread.discards) return false;
    if (!pool_.is_exhausted()) {
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
        if (session_file_) session_file_->header().dropped.fetch_add(1, std::memory_order_relaxed);
    }
    thread.dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
}

// The place in the list first: an extent that is open and not in it would be lost.
ExtentRef Recorder::open_records(ThreadBuffer& thread, uint32_t units) {
    OwnedExtent& owned = thread.extents.emplace_back();
    try {
        owned.ref = pool_.open_extent(ExtentKind::records, units);
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
    for (auto& [id, session] : sessions_) {
        if (session.options.ring_ns != 0)
            session.keep_from =
                std::max(session.keep_from, base::ticks_before(base::ticks(), session.options.ring_ns));
        size_t bytes = extent_bytes_;
        for (const Filled& filled : filled_) {
            if (session.options.ring_bytes == 0 || bytes + slab_bytes <= session.options.ring_bytes) break;
            session.keep_from = std::max(session.keep_from, filled.at);
            bytes -= filled.bytes;
        }
    }
    trim();
}

// Gives back what ended before any session wants it.
void Recorder::trim() {
    uint64_t keep_from = UINT64_MAX;
    for (const auto& [id, session] : sessions_)
        keep_from = std::min(keep_from, session.has_begun ? session.keep_from : base::ticks());
    if (filled_.empty() || filled_.front().at > keep_from) return forget_dead_threads();
    if (session_file_ && !sessions_.empty())
        session_file_->header().keep_from.store(keep_from, std::memory_order_relaxed);
    while (!filled_.empty() && filled_.front().at <= keep_from) {
        const Filled& oldest = filled_.front();
        extent_bytes_ -= oldest.bytes;
        pool_.release(oldest.thread->extents.front().ref);
        oldest.thread->extents.pop_front();
        filled_.pop_front();
    }
    forget_dead_threads();
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

// ---- lanes

namespace {

// The lane with open scopes of this context, if there is one.
Lane* open_lane(const ThreadBuffer& thread, uintptr_t context) {
    auto known = thread.lane_by_context.find(context);
    if (known == thread.lane_by_context.end()) return nullptr;
    Lane* lane = known->second;
    return lane->context == context && lane->depth != 0 ? lane : nullptr;
}

// Another one for this context.
Lane* find_lane(ThreadBuffer& thread, uintptr_t context, bool* is_new);

bool has_open(const Lane& lane, uint32_t name) {
    for (uint32_t i = lane.depth; i-- > 0;)
        if (name_of(lane.entries[i]) == name) return true;
    return false;
}

}  // namespace

Lane* lane_with_open(const ThreadBuffer& thread, uint32_t name) noexcept {
    if (has_open(*thread.lane, name)) return thread.lane;
    for (const auto& lane : thread.lanes)
        if (has_open(*lane, name)) return lane.get();
    return nullptr;
}

uint16_t lane_number_of(const ThreadBuffer& thread, uintptr_t context) noexcept {
    if (thread.lane->context == context && thread.lane->depth != 0) return thread.lane->number;
    const Lane* lane = open_lane(thread, context);
    return lane ? lane->number : 0;
}

Lane* switch_lane(ThreadBuffer& thread, uintptr_t context, bool* is_new) noexcept {
    if (Lane* open = open_lane(thread, context)) return thread.lane = open;
    try {
        return thread.lane = find_lane(thread, context, is_new);
    } catch (const std::bad_alloc&) {
        return thread.lanes.front().get();  // the thread's own line: the scope is kept, if not in its place
    }
}

namespace {

Lane* find_lane(ThreadBuffer& thread, uintptr_t context, bool* is_new) {
    Lane* lane = thread.lanes.front()->depth == 0 ? thread.lanes.front().get() : idle_lane(thread);
    if (!lane) lane = Recorder::instance().add_lane(thread);
    thread.lane_by_context[context] = lane;
    lane->context = context;
    forget_old_contexts(thread);
    if (is_new) *is_new = lane->number != 0;
    return lane;
}

}  // namespace

Lane* Recorder::add_lane(ThreadBuffer& thread) {
    std::lock_guard lock(mutex_);
    if (thread.lanes.size() == max_lanes) return thread.lanes.back().get();
    auto lane = std::make_unique<Lane>();
    lane->number = uint16_t(thread.lanes.size());
    thread.idle_lanes.reserve(thread.lanes.size() + 1);
    thread.lanes.push_back(std::move(lane));
    return thread.lanes.back().get();
}

bool grow_stack(ThreadBuffer& thread, Lane& lane) noexcept {
    const bool may_grow = lane.depth < lane.limit;
    try {
        if (may_grow && Recorder::instance().grow_stack(thread, lane)) return true;
    } catch (const std::bad_alloc&) {
    }
    ++lane.too_deep;
    // A stack that fills a slab is as deep as it can be; any other found no memory.
    const bool is_deepest = lane.extent && lane.extent.header->capacity >= slab_units;
    if (may_grow) (is_deepest ? thread.too_deep : thread.dropped).fetch_add(1, std::memory_order_relaxed);
    return false;
}

bool Recorder::grow_stack(ThreadBuffer& thread, Lane& lane) {
    std::lock_guard lock(mutex_);
    const uint32_t units = lane.extent ? lane.extent.header->capacity : 0;
    if (units >= slab_units) return false;
    return move_stack(thread, lane, std::min(slab_units, std::max(first_stack_units, units * 4)));
}

// Into a new extent of `units`, with what is open; called under the lock.
bool Recorder::move_stack(const ThreadBuffer& thread, Lane& lane, uint32_t units) {
    ExtentRef fresh = pool_.open_extent(ExtentKind::stack, units);
    if (!fresh) return false;
    fresh.header->thread = thread.index;
    fresh.header->tid = thread.tid;
    fresh.header->lane = lane.number | (lane.is_calls ? stack_of_calls : 0);
    // Killed before the old stack is dropped, recovery finds two of this lane and believes the later one.
    fresh.header->order = lane.extent ? lane.extent.header->order + 1 : 0;
    for (uint32_t i = 0; i < lane.depth; ++i) copy_scope(scopes_in(fresh.header)[i], lane.entries[i]);
    fresh.header->state.store(uint64_t(lane.changes) << 32 | lane.depth, std::memory_order_release);
    drop_stack(lane);
    lane.extent = fresh;
    lane.entries = scopes_in(fresh.header);
    lane.capacity = std::min(fresh.header->capacity * 2, lane.limit);
    return true;
}

void Recorder::drop_stack(Lane& lane) {
    if (!lane.extent) return;
    lane.extent.header->kind = ExtentKind::free;  // nothing for recovery to find
    pool_.release(lane.extent);
    lane.extent = {};
}

// ---- the rare ends

void end_out_of_order(ThreadBuffer& thread, Lane& lane, uint32_t name, uint64_t now, const char* payload,
                      size_t payload_bytes, uint32_t stack) noexcept {
    if (lane.too_deep != 0) {
        --lane.too_deep;
        return;
    }
    uint32_t position = lane.depth;
    while (position != 0 && name_of(lane.entries[position - 1]) != name) --position;
    if (position == 0) {
        thread.unbalanced.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    Record record = finished_record(lane, lane.entries[position - 1], now);
    record.correlation = stack;
    if (stack != 0) record.flags |= flag_stack;
    if (payload_bytes == 0)
        append(thread, record);
    else
        append_with_payload(thread, record, nullptr, payload, payload_bytes);
    remove_scope(lane, position - 1);
    if (lane.depth == 0) offer_lane(thread, lane);
}

void end_call_out_of_order(ThreadBuffer& thread, uint32_t name, uint64_t now, uint32_t line) noexcept {
    Lane& lane = thread.calls;
    if (lane.too_deep != 0) {
        --lane.too_deep;
        return;
    }
    uint32_t position = lane.depth;
    while (position != 0 && name_of(lane.entries[position - 1]) != name) --position;
    if (position == 0) {
        thread.unbalanced.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    while (lane.depth >= position) {
        Record record = finished_record(lane, lane.entries[lane.depth - 1], now);
        record.correlation = lane.depth == position ? line : 0;
        append(thread, record);
        lane.publish(lane.depth - 1);
    }
}

void append_with_payload(ThreadBuffer& thread, Record record, const DevicePlace* place, const char* payload,
                         size_t payload_bytes) noexcept {
    if (payload_bytes > max_payload_bytes) {
        thread.oversized.fetch_add(1, std::memory_order_relaxed);
        payload_bytes = 0;
    }
    const uint32_t length = uint32_t(payload_bytes);
    const size_t place_bytes = place ? sizeof *place : 0;
    const size_t bytes = place_bytes + (length || place ? sizeof length + length : 0);
    const uint32_t units = 1 + uint32_t((bytes + unit_bytes - 1) / unit_bytes);
    Record* room = room_for(thread, units);
    if (!room) return;
    record.payload = uint16_t(units - 1);
    *room = record;
    auto* behind = reinterpret_cast<std::byte*>(room + 1);
    if (place) std::memcpy(behind, place, place_bytes);
    if (bytes) std::memcpy(behind + place_bytes, &length, sizeof length);
    if (length) std::memcpy(behind + place_bytes + sizeof length, payload, length);
    publish(thread, units);
}

}  // namespace kinetograph::record
