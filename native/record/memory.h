// Where records live: a pool of 64 KiB slabs, made ready ahead by a thread of its own.
//
// All calls are made under the recorder's lock, which the pool is given; only page work is done outside it.
// Taking memory may throw std::bad_alloc, and changes nothing then; giving it back never does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/temporary_file.h"
#include "record/extent.h"

namespace kinetograph::record {

inline constexpr size_t segment_bytes = 64 * slab_bytes;
inline constexpr size_t low_water_slabs = 16;

enum class AtLimit : uint8_t { spill, drop };

struct Segment;

// A file that memory is mapped from. Segments remember the number: an earlier file may still be mapped when
// another one has taken its place.
struct BackingFile {
    int descriptor = -1;
    size_t bytes = 0;
    uint64_t number = 0;
    base::FileIdentity identity{};
    std::atomic<uint64_t>* told_bytes = nullptr;  // where its length is kept
    bool is_open() const { return descriptor >= 0; }
};

struct Slab {
    std::byte* memory = nullptr;
    Segment* segment = nullptr;
    uint32_t extents = 0;  // given out and not returned; 0 frees the slab
    bool is_free = true;
    bool is_ready = false;  // its pages are there, as far as we know

    ExtentHeader* first() const { return reinterpret_cast<ExtentHeader*>(memory); }
};

// One mmap: anonymous, in the spill file, or in the session file.
struct Segment {
    std::byte* memory = nullptr;
    size_t bytes = 0;
    uint64_t file = 0;  // number of the file it lies in, 0: memory
    bool is_spill = false;
    std::unique_ptr<Slab[]> slabs;
    size_t slab_count = 0;
    size_t slabs_in_hand = 0;  // of keepers, which make them ready without the lock
};

// An extent somebody writes or reads, and the slab that must not go away under it.
struct ExtentRef {
    ExtentHeader* header = nullptr;
    Slab* slab = nullptr;
    explicit operator bool() const { return header != nullptr; }
};

struct PoolLimits {
    size_t memory_bytes = size_t(1) << 30;
    AtLimit at_limit = AtLimit::spill;
    std::string directory;  // for the spill file; empty: the system's temporary directory
};

// Has the kernel give the pages now rather than when they are written to.
void populate(std::byte* memory, size_t bytes);

class SlabPool {
public:
    explicit SlabPool(std::mutex& recorder_mutex) : mutex_(recorder_mutex) {}

    // An extent with room for `units`, or with all of a slab's room for 0. Empty when the limit is reached.
    ExtentRef open_extent(ExtentKind kind, uint32_t units);
    // Gives the unused tail of a finished extent to whoever comes next.
    void close_extent(ExtentRef extent);
    // The extent will be read or written by one holder more / less.
    void retain(ExtentRef extent) { ++extent.slab->extents; }
    void release(ExtentRef extent);
    // From its only holder: its room is for whoever comes next. `release` does not look at an extent, for
    // that would bring pages of a file back into memory that were let go of.
    void take_back(ExtentRef extent);

    void set_limits(const PoolLimits& limits);
    // From now on memory comes from this file (descriptor owned by the caller); -1: from anonymous memory
    // again.
    void use_session_file(int descriptor, std::atomic<uint64_t>* told_bytes = nullptr);

    // Has a few slabs ready, so that a short session never waits for the kernel.
    void prepare();
    // No session is left: keep a little for the next one, give back the rest, end the keeper thread.
    void shrink();
    // Whether that would give something back.
    bool keeps_too_much() const;
    // A full extent will not be touched before the session ends: take its pages out if they live in a file.
    void rest(ExtentRef extent);
    // Around a fork: Python warns of forks in processes that have threads, and would of ours.
    void end_keepers();
    void allow_keepers() { is_forking_ = false; }
    // In a forked child: nothing here is ours any more.
    void forget_everything();

    size_t anonymous_bytes() const { return anonymous_bytes_; }
    bool spilled_to_memory() const { return spill_on_tmpfs_; }
    // Whether the last one who asked for memory got none, and none has come back since. Without the lock.
    bool is_exhausted() const { return exhausted_.load(std::memory_order_relaxed); }
    void take_to_be_exhausted() { exhausted_.store(true, std::memory_order_relaxed); }
    const char* why_refused() const { return why_refused_; }
    bool uses_files() const { return session_file_.is_open() || spill_file_.is_open(); }

private:
    Slab* take_slab();
    void free_slab(Slab* slab);
    bool belongs_here(const Segment& segment) const;
    void collect_free_slabs();
    bool add_segment(size_t bytes);
    bool make_room_for(Segment& segment);
    std::unique_ptr<Segment> refuse(const char* why);
    bool adopt(std::unique_ptr<Segment> segment);
    void give_up(std::unique_ptr<Segment> segment);
    std::unique_ptr<Segment> map_segment(size_t bytes);
    std::unique_ptr<Segment> map_segment_or_none(size_t bytes);
    std::unique_ptr<Segment> map_anonymous(size_t bytes);
    std::unique_ptr<Segment> map_file(BackingFile& file, size_t bytes);
    size_t memory_left() const;
    bool open_spill_file();
    void close_spill_file();
    ExtentRef carve(ExtentRef room, ExtentKind kind, uint32_t units);
    void offer_room(ExtentRef room);

    void wake_keeper();
    void keeper_loop(uint64_t generation);
    void keep(std::unique_lock<std::mutex>& lock, uint64_t generation);
    bool keeper_works(std::unique_lock<std::mutex>& lock);
    bool next_slabs_are_ready() const;
    bool make_slabs_ready(std::unique_lock<std::mutex>& lock);
    void unmap_left();

    std::mutex& mutex_;
    PoolLimits limits_;
    std::vector<std::unique_ptr<Segment>> segments_;
    std::vector<std::unique_ptr<Segment>> left_;  // given up, while keepers have slabs of them in hand
    std::vector<Slab*> free_;
    std::vector<ExtentRef> rooms_;  // free tails of slabs that are partly used
    std::vector<ExtentRef> resting_;
    size_t anonymous_bytes_ = 0;
    BackingFile session_file_;
    BackingFile spill_file_;
    uint64_t files_ = 0;
    bool spill_on_tmpfs_ = false;
    bool disk_full_ = false;
    static constexpr const char* no_memory = "the system had no more memory";
    const char* why_refused_ = no_memory;  // the last time
    std::atomic<bool> exhausted_{false};

    // The keeper makes slabs ready and takes resting pages out. It ends after a moment without work, so that
    // a program between sessions has no thread of ours. Heap-allocated because a forked child needs a fresh
    // one.
    bool keeper_runs_ = false;
    uint64_t keeper_generation_ = 0;
    int keepers_ = 0;  // threads, also those on their way out
    int last_keeper_tid_ = 0;
    bool is_forking_ = false;
    std::condition_variable* keeper_ended_ = new std::condition_variable;
    std::condition_variable* keeper_wakes_ = new std::condition_variable;
};

}  // namespace kinetograph::record
