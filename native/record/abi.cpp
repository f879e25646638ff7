// The C table of record_abi.h, over the recorder. Nothing that a caller hands in, and no want of memory, may
// reach him as a crash or an exception.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kinetograph/record_abi.h"
#include "record/annotation_name.h"
#include "record/recorder.h"
#include "record/told_operators.h"

namespace kinetograph::record {

namespace {

// One that has nothing open may be that of a context which is over, as when a function ran in a copy.
[[gnu::noinline, gnu::cold]] void leave_empty_lane(ThreadBuffer& thread) {
    const auto ask = context_of_thread.load(std::memory_order_relaxed);
    const uintptr_t context = ask ? ask() : 0;
    if (context == 0 || context == thread.lane->context) return;
    Lane* lane = thread.lanes[lane_number_of(thread, context)].get();
    // Not into the scopes of another one.
    if (lane->context == context || lane->depth == 0) thread.lane = lane;
}

// Native code runs inside whatever Python runs: its scopes lie on the lane of that task.
Lane& running_lane(ThreadBuffer& thread) {
    if (thread.lane->depth == 0 && thread.lane->number != 0) [[unlikely]]
        leave_empty_lane(thread);
    return *thread.lane;
}

Lane& lane_that_has(ThreadBuffer& thread, uint32_t name) {
    Lane* lane = lane_with_open(thread, name);
    return lane ? *lane : running_lane(thread);
}

ThreadBuffer* listening_thread() {
    return active.load(std::memory_order_relaxed) & active_sessions ? recording_thread() : nullptr;
}

constexpr uint32_t no_name = 0;  // shown as an empty one

uint32_t intern(const char* text, size_t bytes) noexcept {
    if (!text) return no_name;
    try {
        return Recorder::instance().strings().intern_for_ever({text, bytes});
    } catch (...) {
        return no_name;
    }
}

int begin(uint32_t name, uint8_t category, uint8_t scope) noexcept {
    ThreadBuffer* thread = listening_thread();
    if (!thread) return 0;
    begin_scope(*thread, running_lane(*thread), name, open_meta(Category(category), RecordScope(scope)));
    return 1;
}

void end(uint32_t name) noexcept {
    const uint64_t now = base::ticks();
    if (ThreadBuffer* thread = listening_thread())
        end_scope(*thread, lane_that_has(*thread, name), name, now);
}

void end_with(uint32_t name, const char* args, size_t args_bytes) noexcept {
    const uint64_t now = base::ticks();
    if (ThreadBuffer* thread = listening_thread())
        end_out_of_order(*thread, lane_that_has(*thread, name), name, now, args, args ? args_bytes : 0);
}

// Those that run for each operator lie together, so that they take few pages.
[[gnu::hot]] uint64_t begin_operator(uint32_t name, uint8_t category, uint8_t scope, uint8_t flags) noexcept {
    ThreadBuffer* thread = listening_thread();
    if (!thread) return 0;
    // A range of the program's may be open while a coroutine waits.
    const uint32_t more = RecordScope(scope) == RecordScope::user_scope ? 0 : is_operator;
    return begin_known_scope(
        *thread, running_lane(*thread), name,
        open_meta(Category(category), RecordScope(scope), flags) | more | may_be_told_again);
}

[[gnu::hot]] void end_operator(uint64_t begun, int64_t sequence, uint32_t forward_thread) noexcept {
    const uint64_t now = base::ticks();
    ThreadBuffer* thread = begun ? listening_thread() : nullptr;
    if (!thread) return;
    end_known_scope(*thread, begun, now, {.sequence = sequence, .thread_and_inputs = forward_thread}, nullptr,
                    0);
}

Operator known_of(const kinetograph_operator& told) {
    return {told.sequence, told.flops, told.forward_thread | uint64_t(told.inputs) << 32,
            told.members | told.number << 32};
}

[[gnu::hot]] void end_operator_with(uint64_t begun, const kinetograph_operator* told,
                                    uint64_t end_ticks) noexcept {
    const uint64_t now = end_ticks != 0 ? end_ticks : base::ticks();
    ThreadBuffer* thread = begun && told ? listening_thread() : nullptr;
    if (!thread) return;
    end_known_scope(*thread, begun, now, known_of(*told), told->inputs_text,
                    told->inputs_text ? told->inputs_bytes : 0);
}

[[gnu::hot]] int tell_open_operator(uint64_t begun, const kinetograph_operator* told) noexcept {
    ThreadBuffer* thread = begun && told ? listening_thread() : nullptr;
    return thread && tell_operator(*thread, begun, known_of(*told), told->inputs_text,
                                   told->inputs_text ? told->inputs_bytes : 0);
}

// First its record: somebody who looks in between finds what was told once at least.
[[gnu::hot]] void end_told_operator(uint64_t begun, uint64_t flops, uint64_t end_ticks) noexcept {
    const uint64_t now = end_ticks != 0 ? end_ticks : base::ticks();
    ThreadBuffer* thread = begun ? listening_thread() : nullptr;
    if (!thread) return;
    const uint32_t place = told_place(thread->told, begun);
    ToldOperator known(thread->told, place);
    known.told.flops = flops;
    end_known_scope(*thread, begun, now, known.told, known.inputs, known.inputs_bytes);
    forget_told_operator(thread->told, place);
}

int is_told_again(uint32_t name) noexcept {
    ThreadBuffer* thread = listening_thread();
    if (!thread || thread->lane->depth == 0) return 0;
    std::atomic<uint64_t>& scope = thread->lane->entries[thread->lane->depth - 1].name_and_meta;
    const uint64_t packed = scope.load(std::memory_order_relaxed);
    if (packed >> 32 != name || (packed & may_be_told_again) == 0) return 0;
    scope.store(packed & ~uint64_t(may_be_told_again), std::memory_order_relaxed);
    return 1;
}

uint32_t intern_annotation(const char* domain, size_t domain_bytes, const char* name, size_t bytes) noexcept {
    try {
        return Recorder::instance().intern(annotation_name({domain ? domain : "", domain ? domain_bytes : 0},
                                                           {name ? name : "", name ? bytes : 0}));
    } catch (...) {
        return no_name;
    }
}

uint32_t intern_text(const char* text, size_t bytes) noexcept {
    if (!text) return no_name;
    try {
        return Recorder::instance().intern({text, bytes});
    } catch (...) {
        return no_name;
    }
}

void note(const char* kind, const char* text, uint32_t count) noexcept {
    ThreadBuffer* thread = listening_thread();
    if (!thread || !kind || !text) return;
    try {
        tell_note(*thread, kind, text, count);
    } catch (...) {
        count_loss(*thread, &LossCounts::dropped);
    }
}

void append_event(const kinetograph_event& event, RecordKind kind, uint64_t end) {
    ThreadBuffer* thread = listening_thread();
    if (!thread) return;
    const Record record{event.start_ticks, end,         event.name,           kind, event.category,
                        event.scope,       event.flags, thread->lane->number, 0,    event.correlation};
    append_with_payload(*thread, record, nullptr, event.args, event.args ? event.args_bytes : 0);
}

void span(const kinetograph_event* event) noexcept {
    if (event) append_event(*event, RecordKind::span, event->end_ticks);
}
void instant(const kinetograph_event* event) noexcept {
    if (event) append_event(*event, RecordKind::instant, event->start_ticks);
}
void range_begin(uint64_t id, const kinetograph_event* event) noexcept {
    if (event) append_event(*event, RecordKind::range_begin, id);
}
void range_end(uint64_t id, const kinetograph_event* event) noexcept {
    if (event) append_event(*event, RecordKind::range_end, id);
}

void append_counter(uint32_t name, Category category, uint64_t ticks, double value) {
    if (ThreadBuffer* thread = listening_thread())
        append(*thread, {ticks, std::bit_cast<uint64_t>(value), name, RecordKind::counter, uint8_t(category),
                         0, 0, 0, 0, 0});
}

void counter(uint32_t name, double value) noexcept {
    append_counter(name, Category::counter, base::ticks(), value);
}
void annotation_counter(uint32_t name, uint64_t ticks, double value) noexcept {
    append_counter(name, Category::annotation, ticks, value);
}

void device_span(const kinetograph_device_event* event) noexcept {
    ThreadBuffer* thread = listening_thread();
    if (!thread || !event) return;
    const DevicePlace place{event->device_type, {}, event->device_index, event->resource};
    const Record record{uint64_t(event->start_ns),
                        uint64_t(event->end_ns),
                        event->name,
                        RecordKind::device_span,
                        event->category,
                        0,
                        0,
                        0,
                        0,
                        event->correlation};
    append_device_span(*thread, record, place, event->args, event->args ? event->args_bytes : 0);
}

void name_thread_by_id(int32_t tid, const char* text, size_t bytes) noexcept {
    if (!text) return;
    try {
        Recorder::instance().give_thread_name(tid, {text, bytes});
    } catch (...) {
        // A name is a courtesy.
    }
}

void name_thread(const char* text, size_t bytes) noexcept {
    name_thread_by_id(int32_t(syscall(SYS_gettid)), text, bytes);
}

void name_process(const char* text, size_t bytes) noexcept {
    if (!text) return;
    try {
        Recorder::instance().set_process_name({text, bytes});
    } catch (...) {
        // As above.
    }
}

void process_ends() noexcept {
    try {
        Recorder::instance().mark_end();
    } catch (...) {
        // It will be said to have been killed.
    }
}

// The struct may grow: a caller who knows less of it has zero, the default, for the rest; one who knows more
// may ask for nothing that we do not know.
bool copy_known(const kinetograph_session_options& wanted, kinetograph_session_options& known) {
    if (wanted.size < sizeof wanted.size) return false;
    const size_t common = std::min<size_t>(wanted.size, sizeof known);
    std::memcpy(&known, &wanted, common);
    if (known.ring_ns < 0) return false;
    const auto* bytes = reinterpret_cast<const unsigned char*>(&wanted);
    return std::all_of(bytes + common, bytes + wanted.size, [](unsigned char byte) { return byte == 0; });
}

SessionOptions session_options(const kinetograph_session_options& known) {
    SessionOptions options;
    options.all_threads = known.all_threads != 0;
    options.ring_bytes = known.ring_bytes;
    options.ring_ns = known.ring_ns;
    if (known.memory_limit_bytes) options.limits.memory_bytes = known.memory_limit_bytes;
    if (known.directory) options.session_directory = known.directory;
    return options;
}

uint64_t session_start(const kinetograph_session_options* wanted) noexcept {
    kinetograph_session_options known{};
    if (!wanted || !copy_known(*wanted, known)) return 0;
    try {
        return Recorder::instance().start(session_options(known));
    } catch (...) {
        return 0;
    }
}

int session_discard(uint64_t session) noexcept {
    try {
        Recorder::instance().stop(session);
        return 0;
    } catch (...) {
        return -1;
    }
}

static_assert(sizeof active == sizeof(uint32_t));
static_assert(KINETOGRAPH_ANNOTATION == uint32_t(Category::annotation));
static_assert(KINETOGRAPH_OWN_THREAD == own_thread);
static_assert(KINETOGRAPH_UNFINISHED == flag_unfinished && KINETOGRAPH_ASYNC == flag_async);

const kinetograph_record_table& table() {
    static const kinetograph_record_table functions = {
        KINETOGRAPH_RECORD_ABI,
        sizeof(kinetograph_record_table),
        reinterpret_cast<const uint32_t*>(&active),
        [] { return base::ticks(); },
        [] { return base::read_clock_ns(CLOCK_REALTIME); },
        intern,
        begin,
        end,
        span,
        instant,
        counter,
        device_span,
        name_thread,
        session_start,
        session_discard,
        intern_annotation,
        reinterpret_cast<const uint32_t*>(&Recorder::instance().strings().oldest_valid()),
        end_with,
        annotation_counter,
        range_begin,
        range_end,
        intern_text,
        note,
        name_process,
        process_ends,
        begin_operator,
        end_operator,
        end_operator_with,
        name_thread_by_id,
        tell_open_operator,
        end_told_operator,
        is_told_again,
    };
    return functions;
}

}  // namespace

}  // namespace kinetograph::record

extern "C" const kinetograph_record_table* kinetograph_record_table_for(uint32_t version) {
    return version == KINETOGRAPH_RECORD_ABI ? &kinetograph::record::table() : nullptr;
}
