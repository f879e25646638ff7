// The hot path: what a thread does to record a scope. Read it in one sitting.
//
// One thread, one buffer. Only the owner writes it, without lock or allocation; others read what it
// published in order (base/ordered_stores.h). Everything that needs a lock (a new extent, a new lane, a
// change of sessions) is out of line, in thread_buffer.cpp, extents.cpp and lanes.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ordered_stores.h"
#include "base/visibility.h"
#include "record/event.h"
#include "record/extent.h"
#include "record/memory.h"

namespace kinetograph::record {

// Bits of `active`. The one load that an idle scope costs.
enum ActiveBits : uint32_t {
    active_sessions = 1,
    active_observers = 2,
    active_stacks = 4,    // scopes carry the Python stack
    active_emission = 8,  // scopes go out to other tools
};
KINETOGRAPH_API extern std::atomic<uint32_t> active;

// Bits of ThreadBuffer::control: whether scopes of this thread are followed; above them a number that changes
// with every change.
inline constexpr uint32_t control_recording = 1;
inline constexpr uint32_t control_step = 2;

// Open scopes of one line of execution: the thread itself, or an asyncio task on it.
struct Lane {
    OpenScope* entries = nullptr;
    uint32_t depth = 0;
    uint32_t capacity = 0;
    uint32_t too_deep = 0;        // scopes begun beyond what one slab can hold; not recorded, counted
    uint32_t limit = UINT32_MAX;  // how deep it may get because somebody wants no more; not counted
    uint16_t number = 0;
    bool offered = false;   // stands in ThreadBuffer::idle_lanes
    bool is_calls = false;  // Python calls of the thread; they lie on its own line, and nest among themselves
    uintptr_t context = 0;  // whose line this is; an opaque key of the caller
    ExtentRef extent;

    // Every change gets a number, so that a reader can tell that it was one.
    void publish_more(int32_t more) noexcept {
        constexpr uint64_t change = uint64_t(1) << 32;
        depth += uint32_t(more);
        std::atomic<uint64_t>& state = extent.header->state;
        base::order_stores();
        state.store(state.load(std::memory_order_relaxed) + change + uint64_t(int64_t(more)), base::in_order);
    }
    void publish(uint32_t new_depth) noexcept { publish_more(int32_t(new_depth - depth)); }
};

// What was told of operators that go on; told_operators.h.
struct ToldStack {
    static constexpr uint32_t none = UINT32_MAX;

    ExtentRef extent;
    uint32_t used_bytes = 0;
    uint32_t top = none;  // where the last item begins
};

// An extent of a thread, with what a stop needs to know of it: looking into a header on disk would bring it,
// and all that the kernel maps around it, back into memory.
struct OwnedExtent {
    ExtentRef ref;
    uint64_t opened_at = 0;
    size_t bytes = 0;
    uint32_t used = 0;  // once it is complete
    bool is_complete = false;
};

// A thread without memory points here; it has no room, so nobody ever writes to it.
extern ExtentHeader no_extent;

struct ThreadBuffer {
    // Owner only; what every event needs stands first, together.
    ExtentRef extent;
    uint32_t seen_control = 0;
    std::atomic<uint32_t> control{0};  // written under the recorder's lock, read by the owner without it
    bool was_asked_for_name =
        false;  // by those who know it, for the buffer may be there before they are asked
    Lane* lane = nullptr;
    Lane calls;
    // Which configuration of the call collector the calls follow; 0: they have to be found anew.
    uint32_t calls_generation = 0;
    // How many calls at the bottom were open before they could be seen to begin, with an opaque key for each
    // further below; only for a collector that does not see them end either.
    uint32_t found_depth = 0;
    uintptr_t stack_limit =
        UINTPTR_MAX;  // below it the thread's own stack is nearly used up, or not asked yet
    // An opaque key of the collector's, for as long as the thread makes calls that nobody wants; 0: it does
    // not.
    uintptr_t own_call = 0;
    std::vector<uintptr_t> found_calls;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<Lane*> idle_lanes;
    std::unordered_map<uintptr_t, Lane*> lane_by_context;
    ToldStack told;
    ExtentRef set_aside;    // `extent` of a thread that keeps nothing for now
    bool discards = false;  // follows scopes but keeps none: all its sessions are paused

    // Counted by the owner, read by whoever stops a session.
    LossCounts losses;
    LossCounts* file_losses = nullptr;  // the same for a session file, in which others may count too
    ExtentRef file_losses_extent;
    uint64_t dropped_in_file = 0;  // so many its header tells of, or it began when there were so many

    // Under the recorder's lock.
    uint32_t index = 0;
    int32_t tid = 0;
    std::string name;
    bool has_given_name = false;  // not only one that was found out
    bool is_renamed = false;      // and the owner has not taken that over
    uint32_t name_id = 0;         // owner only
    bool alive = true;
    uint64_t died_at = 0;
    bool forget_open_scopes = false;
    bool move_to_new_memory = false;
    bool serves_all = false;  // records on behalf of other threads, and so is in every session
    bool keeps_records = false;
    int sessions = 0;         // that record it now
    int paused_sessions = 0;  // that will record it again, and need to know its open scopes then
    int memberships = 0;      // of sessions that still run, also those it has left
    uint64_t next_order = 0;
    std::deque<OwnedExtent> extents;  // in order; the last one is `extent` (or set aside), if there is one
};

template <class Visit>
void for_each_stack(ThreadBuffer& thread, Visit&& visit) {
    for (auto& lane : thread.lanes) visit(*lane);
    visit(thread.calls);
}

// The buffer of this thread, nullptr before its first event. One word of static TLS: the fastest there is.
// `constinit` spares every use the question whether it has been initialised.
KINETOGRAPH_API extern constinit thread_local ThreadBuffer* current_thread
    __attribute__((tls_model("initial-exec")));

// By the owner.
inline void count_loss(ThreadBuffer& thread, std::atomic<uint64_t> LossCounts::* loss,
                       uint64_t more = 1) noexcept {
    std::atomic<uint64_t>& own = thread.losses.*loss;
    own.store(own.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    if (thread.file_losses) (thread.file_losses->*loss).fetch_add(more, std::memory_order_relaxed);
}

// Threads of ours tell what they have seen by this: want of memory is a loss that is counted, and not the end
// of the program. nullptr: nothing is lost, for it is tried again.
template <class Tell>
void tell_or_count(ThreadBuffer* thread, Tell&& tell) noexcept {
    try {
        tell();
    } catch (const std::bad_alloc&) {
        if (thread) count_loss(*thread, &LossCounts::dropped);
    }
}

// The slow paths. From any thread, GIL or not; they take the recorder's lock. Want of memory is a loss that
// they count, never an error of the program's; a thread without a buffer is tried again with its next event.
KINETOGRAPH_API ThreadBuffer* register_thread() noexcept;
KINETOGRAPH_API void refresh_control(ThreadBuffer& thread) noexcept;
KINETOGRAPH_API bool next_extent(ThreadBuffer& thread, uint32_t units) noexcept;
KINETOGRAPH_API Lane* switch_lane(ThreadBuffer& thread, uintptr_t context, bool* is_new) noexcept;
KINETOGRAPH_API bool grow_stack(ThreadBuffer& thread, Lane& lane) noexcept;
KINETOGRAPH_API void end_call_out_of_order(ThreadBuffer& thread, uint32_t name, uint64_t now,
                                           uint32_t line) noexcept;
// `stack` is the name of the Python stack, 0: none.
KINETOGRAPH_API void end_out_of_order(ThreadBuffer& thread, Lane& lane, uint32_t name, uint64_t now,
                                      const char* payload = nullptr, size_t payload_bytes = 0,
                                      uint32_t stack = 0) noexcept;

// The context that the calling thread is in, 0 where it is in none, from whoever knows: nullptr before that.
KINETOGRAPH_API extern std::atomic<uintptr_t (*)()> context_of_thread;

// Whether a session records the thread, and it knows everything about that.
inline bool is_recording(const ThreadBuffer& thread) noexcept {
    return thread.control.load(std::memory_order_relaxed) == thread.seen_control &&
           thread.seen_control & control_recording;
}

// The buffer of this thread if a session records it now, else nullptr.
inline ThreadBuffer* recording_thread() noexcept {
    ThreadBuffer* thread = current_thread;
    if (!thread) [[unlikely]] {
        thread = register_thread();
        if (!thread) return nullptr;
    }
    if (thread->control.load(std::memory_order_relaxed) != thread->seen_control) [[unlikely]]
        refresh_control(*thread);
    return thread->seen_control & control_recording ? thread : nullptr;
}

// Room for one record and its payload, or nullptr when memory ran out: then the loss is counted.
inline Record* room_for(ThreadBuffer& thread, uint32_t units) noexcept {
    ExtentHeader* extent = thread.extent.header;
    const uint32_t used = extent->used(std::memory_order_relaxed);
    if (used + units <= extent->capacity) [[likely]]
        return extent->records() + used;
    if (!next_extent(thread, units)) return nullptr;
    extent = thread.extent.header;
    return extent->records() + extent->used(std::memory_order_relaxed);
}

inline void publish(ThreadBuffer& thread, uint32_t units) noexcept {
    std::atomic<uint64_t>& state = thread.extent.header->state;
    base::order_stores();
    state.store(state.load(std::memory_order_relaxed) + units, base::in_order);
}

// An event with payload bytes in continuation records behind it. Whether all of it was written.
KINETOGRAPH_API bool append_with_payload(ThreadBuffer& thread, Record record, const DevicePlace* place,
                                         const char* payload, size_t payload_bytes) noexcept;

// An operator, with what was told of it and perhaps its inputs as text.
KINETOGRAPH_API void append_operator(ThreadBuffer& thread, Record record, const Operator& told,
                                     const char* inputs, size_t inputs_bytes) noexcept;

inline void append(ThreadBuffer& thread, const Record& record) noexcept {
    Record* room = room_for(thread, 1);
    if (!room) [[unlikely]]
        return;
    *room = record;
    publish(thread, 1);
}

// What a device did, which belongs to sessions by its own time: it is kept also while all of them are paused,
// if it began before that.
KINETOGRAPH_API void append_device_span(ThreadBuffer& thread, const Record& record, const DevicePlace& place,
                                        const char* payload, size_t payload_bytes) noexcept;

inline Lane& lane_of(ThreadBuffer& thread, uintptr_t context, bool* is_new = nullptr) noexcept {
    Lane* lane = thread.lane;
    if (lane->context == context) [[likely]]
        return *lane;
    return *switch_lane(thread, context, is_new);
}

// For what a framework runs itself and ends before it goes on: the line of the operator that runs it, in
// whichever context, else that of the context.
KINETOGRAPH_API Lane& lane_in_operator(ThreadBuffer& thread, uintptr_t context, bool* is_new) noexcept;

// Where a scope of this name is open: mostly on the lane that runs, else on that of a task which gave way
// meanwhile. nullptr when nowhere.
KINETOGRAPH_API Lane* lane_with_open(const ThreadBuffer& thread, uint32_t name) noexcept;

// The lane an instant of this context lies on: that of its open scopes, else the thread itself. Opens none.
KINETOGRAPH_API uint16_t lane_number_of(const ThreadBuffer& thread, uintptr_t context) noexcept;

// On a lane that has room for it.
inline void open_scope(Lane& lane, uint32_t name, uint32_t meta, uint64_t start) noexcept {
    OpenScope& scope = lane.entries[lane.depth];
    // A reader that still has the depth before the last end must not see this entry change.
    base::order_stores();
    scope.name_and_meta.store(OpenScope::pack(name, meta), base::in_order);
    scope.start.store(start, base::in_order);
    lane.publish_more(1);
}

// Also one that began earlier: a call that was open before anybody recorded.
inline void begin_scope_at(ThreadBuffer& thread, Lane& lane, uint32_t name, uint32_t meta,
                           uint64_t start) noexcept {
    if (lane.depth == lane.capacity) [[unlikely]] {
        if (!grow_stack(thread, lane)) return;
    }
    open_scope(lane, name, meta, start);
}

inline void begin_scope(ThreadBuffer& thread, Lane& lane, uint32_t name, uint32_t meta) noexcept {
    begin_scope_at(thread, lane, name, meta, base::ticks());
}

inline void store_word(Record* record, size_t index, uint64_t word) noexcept {
    std::memcpy(reinterpret_cast<std::byte*>(record) + index * sizeof word, &word, sizeof word);
}

// Word by word: four stores, where field by field it would be nine. `line` is where the caller of a Python
// call stands, 0 when nobody asks.
inline void write_finished(Record* room, const Lane& lane, const OpenScope& scope, uint64_t now,
                           uint32_t line) noexcept {
    static_assert(std::endian::native == std::endian::little);
    static_assert(offsetof(Record, name) == 16 && offsetof(Record, kind) == 20);
    static_assert(offsetof(Record, category) == 21 && offsetof(Record, scope) == 22 &&
                  offsetof(Record, flags) == 23);
    static_assert(offsetof(Record, lane) == 24 && offsetof(Record, correlation) == 28);
    const uint64_t packed = scope.name_and_meta.load(std::memory_order_relaxed);
    const uint32_t kind_and_meta = uint32_t(RecordKind::span) | uint32_t(packed) << 8;
    store_word(room, 0, scope.start.load(std::memory_order_relaxed));
    store_word(room, 1, now);
    store_word(room, 2, packed >> 32 | uint64_t(kind_and_meta) << 32);
    store_word(room, 3, lane.number | uint64_t(line) << 32);
}

inline Record finished_record(const Lane& lane, const OpenScope& scope, uint64_t now,
                              uint32_t line = 0) noexcept {
    Record record;
    write_finished(&record, lane, scope, now, line);
    return record;
}

// For one record more.
inline bool has_room(const ThreadBuffer& thread) noexcept {
    const ExtentHeader* extent = thread.extent.header;
    return extent->used(std::memory_order_relaxed) != extent->capacity;
}

// Records lie in memory that nobody has written yet: waiting for its cache lines was half of what a call cost
// on ARM. At the end of a slab this asks for memory that is not ours, or not there, which the processor
// ignores.
inline void fetch_ahead_of(const Record* room) noexcept {
    constexpr int records_ahead = 32;
    __builtin_prefetch(reinterpret_cast<const void*>(uintptr_t(room) + records_ahead * sizeof(Record)), 1);
}

inline void append_finished_in_room(ThreadBuffer& thread, const Lane& lane, const OpenScope& scope,
                                    uint64_t now, uint32_t line = 0) noexcept {
    ExtentHeader* extent = thread.extent.header;
    const uint32_t used = extent->used(std::memory_order_relaxed);
    Record* room = extent->records() + used;
    fetch_ahead_of(room);
    write_finished(room, lane, scope, now, line);
    base::order_stores();
    extent->state.store(used + 1, base::in_order);
}

inline void append_finished(ThreadBuffer& thread, const Lane& lane, const OpenScope& scope, uint64_t now,
                            uint32_t line = 0) noexcept {
    if (!has_room(thread)) [[unlikely]]
        return void(
            append_with_payload(thread, finished_record(lane, scope, now, line), nullptr, nullptr, 0));
    append_finished_in_room(thread, lane, scope, now, line);
}

KINETOGRAPH_API void add_idle_lane(ThreadBuffer& thread, Lane& lane) noexcept;

// An empty lane can serve the next task.
inline void offer_lane(ThreadBuffer& thread, Lane& lane) noexcept {
    if (lane.number != 0 && !lane.offered) [[unlikely]]
        add_idle_lane(thread, lane);
}

// Ends the innermost scope called `name`. One that was never begun is counted and otherwise ignored.
inline void end_scope(ThreadBuffer& thread, Lane& lane, uint32_t name, uint64_t now) noexcept {
    if (lane.depth == 0 || lane.too_deep != 0) [[unlikely]]
        return end_out_of_order(thread, lane, name, now);
    const OpenScope& scope = lane.entries[lane.depth - 1];
    if (uint32_t(scope.name_and_meta.load(std::memory_order_relaxed) >> 32) != name) [[unlikely]]
        return end_out_of_order(thread, lane, name, now);
    // First the record, then the stack: killed in between, the scope is found twice and told apart; the other
    // way round it would be lost.
    append_finished(thread, lane, scope, now);
    lane.publish_more(-1);
    if (lane.depth == 0) offer_lane(thread, lane);
}

// As begin_scope, for those who end it by what this returns: its start, which no other scope of the thread
// has; 0 where it is not followed.
inline uint64_t begin_known_scope(ThreadBuffer& thread, Lane& lane, uint32_t name, uint32_t meta) noexcept {
    const uint64_t now = base::ticks();
    if (lane.depth == lane.capacity) [[unlikely]] {
        if (!grow_stack(thread, lane)) {
            --lane.too_deep;  // its end will not come
            return 0;
        }
    }
    open_scope(lane, name, meta, now);
    return now;
}

// The slow path of the next: with inputs in text, at the end of an extent, or out of order.
KINETOGRAPH_API void end_operator_out_of_order(ThreadBuffer& thread, uint64_t begun, uint64_t now,
                                               const Operator& told, const char* inputs,
                                               size_t inputs_bytes) noexcept;

inline void write_told(Record* room, const Operator& told) noexcept {
    static_assert(offsetof(Operator, flops) == 8 && offsetof(Operator, thread_and_inputs) == 16 &&
                  offsetof(Operator, members_and_number) == 24 && sizeof(Operator) == sizeof(Record));
    store_word(room, 0, uint64_t(told.sequence));
    store_word(room, 1, told.flops);
    store_word(room, 2, told.thread_and_inputs);
    store_word(room, 3, told.members_and_number);
}

// Ends what begin_known_scope began. One that is no longer open is that of a session which is over. Where
// little is told, a compiler that sees both can leave out most of this. What is told comes as a copy, and
// goes on as another, so that it stays in registers.
[[gnu::always_inline]] inline void end_known_scope(ThreadBuffer& thread, uint64_t begun, uint64_t now,
                                                   Operator told, const char* inputs,
                                                   size_t inputs_bytes) noexcept {
    Lane& lane = *thread.lane;
    ExtentHeader* extent = thread.extent.header;
    const uint32_t used = extent->used(std::memory_order_relaxed);
    if (lane.depth == 0 || inputs_bytes != 0 || used + 2 > extent->capacity ||
        lane.entries[lane.depth - 1].start.load(std::memory_order_relaxed) != begun) [[unlikely]]
        return end_operator_out_of_order(thread, begun, now, Operator(told), inputs, inputs_bytes);
    const OpenScope& scope = lane.entries[lane.depth - 1];
    Record* room = extent->records() + used;
    fetch_ahead_of(room);
    const bool is_short = told.is_only_a_number();
    write_finished(room, lane, scope, now, is_short ? uint32_t(told.sequence) : 0);
    uint32_t units = 1;
    if (is_short) {
        room->flags |= flag_operator;
    } else if (!told.tells_nothing()) {
        room->flags |= flag_operator;
        room->payload = 1;
        write_told(room + 1, told);
        units = 2;
    }
    base::order_stores();
    extent->state.store(used + units, base::in_order);
    lane.publish_more(-1);
    if (lane.depth == 0) offer_lane(thread, lane);
}

// Calls nest strictly, unless a call or a return was not seen: then those above have ended unseen.
inline void end_call(ThreadBuffer& thread, uint32_t name, uint64_t now, uint64_t least_ticks,
                     uint32_t line) noexcept {
    Lane& lane = thread.calls;
    if (lane.depth == 0 || lane.too_deep != 0) [[unlikely]]
        return end_call_out_of_order(thread, name, now, line);
    const OpenScope& call = lane.entries[lane.depth - 1];
    if (uint32_t(call.name_and_meta.load(std::memory_order_relaxed) >> 32) != name) [[unlikely]]
        return end_call_out_of_order(thread, name, now, line);
    if (now - call.start.load(std::memory_order_relaxed) >= least_ticks) [[likely]]
        append_finished(thread, lane, call, now, line);
    else
        count_loss(thread, &LossCounts::brief);
    lane.publish_more(-1);
}

}  // namespace kinetograph::record
