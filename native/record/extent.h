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

// category | scope << 8 | flags << 16
inline constexpr uint32_t open_meta(Category category, RecordScope scope, uint8_t flags = 0) {
    return uint32_t(category) | uint32_t(scope) << 8 | uint32_t(flags) << 16;
}

struct StringItem {
    uint32_t id;
    uint32_t length;
    // `length` bytes follow, padded to 8
};

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
    std::atomic<uint64_t> dropped;
    std::atomic<uint64_t> keep_from;  // what ended before this tick has left the ring
    char command[256];
    char boot_id[40];  // tells whether the ticks still run as they did
    // Zero in files of before these were added.
    int64_t parent_pid;
    std::atomic<uint64_t> ended;  // the tick at which the interpreter ended in good order; 0: it did not
    char process_name[256];
};
inline constexpr char session_file_magic[8] = "KGSESS1";
inline constexpr uint32_t session_file_version = 1;
inline constexpr size_t session_header_bytes = slab_bytes;  // keeps the slabs aligned in the file
static_assert(sizeof(SessionFileHeader) <= session_header_bytes);

}  // namespace kinetograph::record
