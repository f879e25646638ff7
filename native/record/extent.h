// The one layout of recorded memory, anonymous or in a mapped file.
//
// A slab is 64 KiB and holds extents back to back, each a 64-byte header and then units of 32 bytes. Whoever
// walks a slab (recovery after a kill) goes from header to header by `capacity`; a header that makes no sense
// ends the walk of that slab only. Writers therefore complete the header behind an extent before the extent
// itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "record/event.h"

namespace kinetograph::record {

inline constexpr size_t slab_bytes = 64 * 1024;
inline constexpr size_t unit_bytes = sizeof(Record);
inline constexpr uint32_t extent_magic = 0x3145474b;  // "KGE1"

// Numbers reach session files.
enum class ExtentKind : uint8_t {
    free = 0,
    records = 1,  // state: how many records are complete
    stack = 2,    // state: changes << 32 | depth; units hold two OpenScopes
    strings = 3,  // state: how many bytes are complete; items of StringItem
    // Since version 2 of the session file.
    pauses = 4,     // state: how many bytes are complete; PauseItems in order
    left_open = 5,  // state: how many bytes are complete; LeftOpenItems
    losses = 6,     // state: how many LossCounts there are
    told = 7,       // state: changes << 32 | bytes; ToldItems
};

struct ExtentHeader {
    uint32_t magic;
    ExtentKind kind;
    uint8_t reserved[3];
    uint32_t capacity;  // units behind this header
    uint32_t thread;    // index of the thread in the recorder
    std::atomic<uint64_t> state;
    uint64_t order;  // increases with each extent a thread takes
    base::ClockAnchor anchor;
    int32_t tid;
    uint32_t lane;

    Record* records() { return reinterpret_cast<Record*>(this + 1); }
    const Record* records() const { return reinterpret_cast<const Record*>(this + 1); }
    std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
    size_t total_bytes() const { return sizeof *this + size_t(capacity) * unit_bytes; }
    uint32_t used(std::memory_order order = std::memory_order_acquire) const {
        return uint32_t(state.load(order));
    }
};
static_assert(sizeof(ExtentHeader) == 64);

inline constexpr uint32_t slab_units = (slab_bytes - sizeof(ExtentHeader)) / unit_bytes;
inline constexpr uint32_t header_units = sizeof(ExtentHeader) / unit_bytes;

// A scope that has begun. Atomic because a stop in another thread reads it while its owner goes on.
struct OpenScope {
    std::atomic<uint64_t> start;
    std::atomic<uint64_t> name_and_meta;  // name << 32 | OpenMeta bits

    static uint64_t pack(uint32_t name, uint32_t meta) { return uint64_t(name) << 32 | meta; }
};
static_assert(sizeof(OpenScope) == 16);

// In ExtentHeader::lane, above the number: the stack of calls, which shares its lane with scopes.
inline constexpr uint32_t stack_of_calls = uint32_t(1) << 16;

// Beside what open_meta gives, and in no record: of a framework, which gives way to nobody before it ends.
inline constexpr uint32_t is_operator = uint32_t(1) << 24;
// As that one: somebody else may tell of this one, too, and has not yet.
inline constexpr uint32_t may_be_told_again = uint32_t(1) << 25;

// category | scope << 8 | flags << 16
inline constexpr uint32_t open_meta(Category category, RecordScope scope, uint8_t flags = 0) {
    return uint32_t(category) | uint32_t(scope) << 8 | uint32_t(flags) << 16;
}

// What is told of an operator that goes on. `bytes` follow, padded to 8: an Operator, and perhaps its inputs
// as text.
struct ToldItem {
    uint64_t begun;  // the start of its scope; 0: it has ended, before one above it
    uint32_t bytes;
    uint32_t below;  // where the item below begins
};
static_assert(sizeof(ToldItem) == 16);

struct StringItem {
    uint32_t id;
    uint32_t length;
    // `length` bytes follow, padded to 8
};

// [begin, end] in ticks: nothing of it is wanted. One that begins before the session does is no pause of it:
// the session began with its end.
struct PauseItem {
    uint64_t begin;
    uint64_t end;  // UINT64_MAX while it lasts
};

// A scope that was open when a pause began, and may have ended in it.
struct LeftOpenItem {
    uint64_t start;
    uint64_t seen_until;
    uint32_t name;
    uint32_t meta;
    uint32_t thread;
    int32_t tid;
    uint32_t lane;
    uint32_t reserved;
};
static_assert(sizeof(PauseItem) == 16 && sizeof(LeftOpenItem) == 40);

// A word in the file that changes while somebody may read it.
inline void store_in_file(uint64_t& word, uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

// What could not be recorded. A thread counts its own; in a session file threads share slots, and all of them
// together are what the process lost since the file began.
struct LossCounts {
    std::atomic<uint64_t> dropped{0};      // events, for want of memory
    std::atomic<uint64_t> unbalanced{0};   // ends without a begin
    std::atomic<uint64_t> too_deep{0};     // scopes nested deeper than a stack can be
    std::atomic<uint64_t> oversized{0};    // payloads too large for a slab
    std::atomic<uint64_t> brief{0};        // calls shorter than asked for
    std::atomic<uint64_t> unrecorded{0};   // scopes begun while only sessions of other threads ran
    std::atomic<uint64_t> torn{0};         // sampled stacks that changed while they were read
    std::atomic<uint64_t> missed{0};       // rounds of samples that came too late
    std::atomic<uint64_t> deep_stacks{0};  // sampled stacks of too many frames
    uint64_t reserved[7] = {};
};
static_assert(sizeof(LossCounts) == 128);
inline constexpr uint32_t loss_slots = slab_units * unit_bytes / sizeof(LossCounts);

// The first page of a session file.
struct SessionFileHeader {
    char magic[8];  // "KGSESS1\0"
    uint32_t version;
    base::TickSource tick_source;
    int64_t pid;
    base::ClockAnchor start;
    int64_t start_uncertainty_ticks;
    base::ClockAnchor process;
    int64_t process_uncertainty_ticks;
    std::atomic<uint64_t> dropped;    // by threads that have no LossCounts; in version 1 times, not events
    std::atomic<uint64_t> keep_from;  // what ended before this tick has left the ring
    char command[256];
    char boot_id[40];  // tells whether the ticks still run as they did
    // Zero in files of before these were added.
    int64_t parent_pid;
    std::atomic<uint64_t> ended;  // the tick at which the interpreter ended in good order; 0: it did not
    char process_name[256];
    // Since version 2.
    double scope_cost_ns;  // of one recorded scope
    std::atomic<uint64_t> names_refused;
    std::atomic<uint64_t> names_shortened;
    std::atomic<uint32_t> all_threads;  // whether a session of all threads recorded here
    // Zero in files of before these were added.
    std::atomic<uint64_t> ring_held_at;  // what a ring had at this tick it keeps, for its end; 0: it goes on
    std::atomic<uint64_t> file_bytes;    // so long the file is, unless it was cut
};
inline constexpr char session_file_magic[8] = "KGSESS1";
inline constexpr uint32_t session_file_version = 2;
inline constexpr uint32_t oldest_session_file_version = 1;
inline constexpr size_t session_header_bytes = slab_bytes;  // keeps the slabs aligned in the file
static_assert(sizeof(SessionFileHeader) <= session_header_bytes);

}  // namespace kinetograph::record
