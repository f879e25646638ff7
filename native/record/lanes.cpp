// The open scopes of a thread: a stack per line of execution, its growth, and ends that are out of order.
#include <algorithm>
#include <memory>
#include <new>

#include "record/recorder.h"

namespace kinetograph::record {

namespace {

// Idle lanes are a heap, lowest number first: a session after a busy one begins with lane 1 again.
bool has_higher_number(const Lane* a, const Lane* b) {
    return a->number > b->number;
}

constexpr uint32_t first_stack_units = 16;  // 32 open scopes
constexpr size_t max_lanes = UINT16_MAX;

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

bool is_of_framework(const OpenScope& scope) {
    return scope.name_and_meta.load(std::memory_order_relaxed) & is_operator;
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

// Never allocates: there is room for every lane once.
void add_idle_lane(ThreadBuffer& thread, Lane& lane) noexcept {
    lane.offered = true;
    thread.idle_lanes.push_back(&lane);
    std::push_heap(thread.idle_lanes.begin(), thread.idle_lanes.end(), has_higher_number);
}

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

std::atomic<uintptr_t (*)()> context_of_thread{nullptr};

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

Lane& lane_in_operator(ThreadBuffer& thread, uintptr_t context, bool* is_new) noexcept {
    Lane& lane = *thread.lane;
    return lane.depth != 0 && is_of_framework(lane.entries[lane.depth - 1])
               ? lane
               : lane_of(thread, context, is_new);
}

namespace {

// What is open on a line that no context has used yet was begun by native code, which runs this one.
bool can_take(const Lane& lane) {
    return lane.depth == 0 || lane.context == 0;
}

Lane* find_lane(ThreadBuffer& thread, uintptr_t context, bool* is_new) {
    Lane* lane = can_take(*thread.lanes.front()) ? thread.lanes.front().get() : idle_lane(thread);
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
        // Not around scopes that found no room: their ends would be taken for that of a later one.
        if (may_grow && lane.too_deep == 0 && Recorder::instance().grow_stack(thread, lane)) return true;
    } catch (const std::bad_alloc&) {
    }
    ++lane.too_deep;
    // A stack that fills a slab is as deep as it can be; any other found no memory.
    const bool is_deepest = lane.extent && lane.extent.header->capacity >= slab_units;
    if (may_grow) count_loss(thread, is_deepest ? &LossCounts::too_deep : &LossCounts::dropped);
    return false;
}

bool Recorder::grow_stack(ThreadBuffer& thread, Lane& lane) {
    if (!may_have_memory(thread)) return false;
    std::lock_guard lock(mutex_);
    const uint32_t units = lane.extent ? lane.extent.header->capacity : 0;
    if (units >= slab_units) return false;
    if (move_stack(thread, lane, std::min(slab_units, std::max(first_stack_units, units * 4)))) return true;
    count_in_header(thread);
    return false;
}

// Into a new extent of `units`, with what is open; called under the lock.
bool Recorder::move_stack(const ThreadBuffer& thread, Lane& lane, uint32_t units) {
    ExtentRef fresh = open_extent(ExtentKind::stack, units);
    if (!fresh) return false;
    fresh.header->thread = thread.index;
    fresh.header->tid = thread.tid;
    fresh.header->lane = lane.number | (lane.is_calls ? stack_of_calls : 0);
    // Killed before the old stack is dropped, recovery finds two of this lane and believes the later one.
    fresh.header->order = lane.extent ? lane.extent.header->order + 1 : 0;
    for (uint32_t i = 0; i < lane.depth; ++i) copy_scope(scopes_in(fresh.header)[i], lane.entries[i]);
    const uint64_t state = lane.extent ? lane.extent.header->state.load(std::memory_order_relaxed) : 0;
    fresh.header->state.store(state >> 32 << 32 | lane.depth, std::memory_order_release);
    drop(lane.extent);
    lane.extent = fresh;
    lane.entries = scopes_in(fresh.header);
    lane.capacity = std::min(fresh.header->capacity * 2, lane.limit);
    return true;
}

void Recorder::drop(ExtentRef& extent) {
    if (!extent) return;
    pool_.take_back(extent);
    extent = {};
}

namespace {

// Of the innermost that is open under this name, from 1 on; 0 where it was too deep to keep, or never began.
uint32_t position_of(ThreadBuffer& thread, Lane& lane, uint32_t name) noexcept {
    if (lane.too_deep != 0) {
        --lane.too_deep;
        return 0;
    }
    uint32_t position = lane.depth;
    while (position != 0 && name_of(lane.entries[position - 1]) != name) --position;
    if (position == 0) count_loss(thread, &LossCounts::unbalanced);
    return position;
}

}  // namespace

void end_out_of_order(ThreadBuffer& thread, Lane& lane, uint32_t name, uint64_t now, const char* payload,
                      size_t payload_bytes, uint32_t stack) noexcept {
    const uint32_t position = position_of(thread, lane, name);
    if (position == 0) return;
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

namespace {

// From 1 on; 0 where it is not on this lane.
uint32_t position_of_start(const Lane& lane, uint64_t start) noexcept {
    uint32_t position = lane.depth;
    while (position != 0 && lane.entries[position - 1].start.load(std::memory_order_relaxed) != start)
        --position;
    return position;
}

void end_operator_at(ThreadBuffer& thread, Lane& lane, uint32_t position, uint64_t now, const Operator& told,
                     const char* inputs, size_t inputs_bytes) noexcept {
    const Record record = finished_record(lane, lane.entries[position - 1], now);
    append_operator(thread, record, told, inputs, inputs_bytes);
    remove_scope(lane, position - 1);
    if (lane.depth == 0) offer_lane(thread, lane);
}

}  // namespace

void end_operator_out_of_order(ThreadBuffer& thread, uint64_t begun, uint64_t now, const Operator& told,
                               const char* inputs, size_t inputs_bytes) noexcept {
    if (const uint32_t position = position_of_start(*thread.lane, begun))
        return end_operator_at(thread, *thread.lane, position, now, told, inputs, inputs_bytes);
    for (const auto& lane : thread.lanes)
        if (const uint32_t position = position_of_start(*lane, begun))
            return end_operator_at(thread, *lane, position, now, told, inputs, inputs_bytes);
}

void end_call_out_of_order(ThreadBuffer& thread, uint32_t name, uint64_t now, uint32_t line) noexcept {
    Lane& lane = thread.calls;
    const uint32_t position = position_of(thread, lane, name);
    if (position == 0) return;
    while (lane.depth >= position) {
        Record record = finished_record(lane, lane.entries[lane.depth - 1], now);
        record.correlation = lane.depth == position ? line : 0;
        append(thread, record);
        lane.publish(lane.depth - 1);
    }
}

}  // namespace kinetograph::record
