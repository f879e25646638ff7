#include "record/memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/temporary_file.h"

namespace kinetograph::record {

namespace {

constexpr size_t first_segment_bytes = 16 * slab_bytes;
constexpr size_t kept_bytes = first_segment_bytes;
constexpr size_t huge_page_bytes = size_t(2) << 20;
constexpr size_t max_rooms = 64;
constexpr uint32_t smallest_room = header_units + 8;

void write_free_header(std::byte* at, uint32_t capacity) {
    auto* header = new (at) ExtentHeader{};
    header->capacity = capacity;
    header->kind = ExtentKind::free;
    header->magic = extent_magic;
}

std::byte* map_memory(size_t bytes) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// All of a segment is made ready anyway, and in huge pages that takes a fraction of the time: the program's
// threads are less likely to come to a page before the keeper.
std::byte* map_huge_pages(size_t bytes) {
    std::byte* memory = map_memory(bytes + huge_page_bytes);
    if (!memory) return nullptr;
    const size_t before = -reinterpret_cast<uintptr_t>(memory) % huge_page_bytes;
    if (before != 0) munmap(memory, before);
    if (before != huge_page_bytes) munmap(memory + before + bytes, huge_page_bytes - before);
    madvise(memory + before, bytes, MADV_HUGEPAGE);
    return memory + before;
}

// Room for so many, by doubling; what is put in later needs no memory then.
template <class T>
void grow(std::vector<T>& list, size_t size) {
    if (list.capacity() < size) list.reserve(std::max(size, 2 * list.capacity()));
}

bool is_idle(const Segment& segment) {
    return std::all_of(segment.slabs.get(), segment.slabs.get() + segment.slab_count,
                       [](const Slab& slab) { return slab.is_free; });
}

bool is_tmpfs(int descriptor) {
    struct statfs info{};
    return fstatfs(descriptor, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

}  // namespace

// ---- slabs

Slab* SlabPool::take_slab() {
    if (free_.empty() && !add_segment(segment_bytes)) return nullptr;
    Slab* slab = free_.back();
    free_.pop_back();
    slab->is_free = false;
    write_free_header(slab->memory, slab_units);
    if (free_.size() < low_water_slabs || !next_slabs_are_ready()) wake_keeper();
    return slab;
}

// As many as a busy thread uses up while the keeper comes to work, as far as there are so many.
bool SlabPool::next_slabs_are_ready() const {
    return free_.empty() || free_[free_.size() - std::min(free_.size(), low_water_slabs)]->is_ready;
}

void SlabPool::free_slab(Slab* slab) {
    std::erase_if(rooms_, [&](const ExtentRef& room) { return room.slab == slab; });
    std::erase_if(resting_, [&](const ExtentRef& resting) { return resting.slab == slab; });
    slab->is_free = true;
    write_free_header(slab->memory, slab_units);
    if (!belongs_here(*slab->segment)) return;
    // There is room: adopt() has made it for every slab.
    free_.push_back(slab);
    exhausted_.store(false, std::memory_order_relaxed);
}

// Files of earlier sessions may still be mapped, and a spill file while memory is free again.
bool SlabPool::belongs_here(const Segment& segment) const {
    if (session_file_.is_open()) return segment.file == session_file_.number;
    if (segment.is_spill) return segment.file == spill_file_.number && memory_left() == 0;
    return segment.file == 0;
}

void SlabPool::collect_free_slabs() {
    free_.clear();
    rooms_.clear();
    for (auto& segment : segments_) {
        if (!belongs_here(*segment)) continue;
        for (size_t i = segment->slab_count; i-- > 0;)
            if (segment->slabs[i].is_free) free_.push_back(&segment->slabs[i]);
    }
}

// ---- extents

ExtentRef SlabPool::carve(ExtentRef room, ExtentKind kind, uint32_t units) {
    const uint32_t capacity = room.header->capacity;
    if (units != 0 && capacity - units >= smallest_room) {
        std::byte* rest = room.header->bytes() + size_t(units) * unit_bytes;
        write_free_header(rest, capacity - units - header_units);
        offer_room({reinterpret_cast<ExtentHeader*>(rest), room.slab});
    } else {
        units = capacity;
    }
    std::atomic_thread_fence(std::memory_order_release);
    room.header->capacity = units;
    room.header->state.store(0, std::memory_order_relaxed);
    room.header->kind = kind;
    room.header->anchor = base::quick_anchor();
    ++room.slab->extents;
    return room;
}

// Where there are too many, the smallest is forgotten: it would keep out those that are large enough for the
// next thread.
void SlabPool::offer_room(ExtentRef room) {
    const auto is_smaller = [](const ExtentRef& a, const ExtentRef& b) {
        return a.header->capacity < b.header->capacity;
    };
    if (rooms_.size() == rooms_.capacity()) {
        const auto smallest = std::min_element(rooms_.begin(), rooms_.end(), is_smaller);
        if (smallest == rooms_.end() || !is_smaller(*smallest, room)) return;
        rooms_.erase(smallest);
    }
    rooms_.push_back(room);
}

ExtentRef SlabPool::open_extent(ExtentKind kind, uint32_t units) {
    if (units != 0) {
        auto fits = [&](const ExtentRef& room) { return room.header->capacity >= units; };
        auto room = std::find_if(rooms_.rbegin(), rooms_.rend(), fits);
        if (room != rooms_.rend()) {
            const ExtentRef found = *room;
            rooms_.erase(std::next(room).base());
            return carve(found, kind, units);
        }
    }
    Slab* slab = take_slab();
    if (!slab) {
        take_to_be_exhausted();
        return {};
    }
    return carve({slab->first(), slab}, kind, units);
}

void SlabPool::close_extent(ExtentRef extent) {
    const uint32_t used = extent.header->used(std::memory_order_relaxed);
    const uint32_t spare = extent.header->capacity - used;
    if (spare < smallest_room || !belongs_here(*extent.slab->segment)) return;
    std::byte* rest = extent.header->bytes() + size_t(used) * unit_bytes;
    write_free_header(rest, spare - header_units);
    std::atomic_thread_fence(std::memory_order_release);
    extent.header->capacity = used;
    offer_room({reinterpret_cast<ExtentHeader*>(rest), extent.slab});
}

void SlabPool::release(ExtentRef extent) {
    if (--extent.slab->extents == 0) free_slab(extent.slab);
}

void SlabPool::take_back(ExtentRef extent) {
    extent.header->kind = ExtentKind::free;  // nothing for recovery to find
    release(extent);
    if (!extent.slab->is_free && belongs_here(*extent.slab->segment)) offer_room(extent);
}

void SlabPool::rest(ExtentRef extent) {
    if (extent.slab->segment->file == 0) return;
    if (resting_.size() < resting_.capacity()) resting_.push_back(extent);
    if (resting_.size() >= low_water_slabs) wake_keeper();
}

// ---- segments

// Half of the ceiling is for records; building and writing the trace need the other half.
size_t SlabPool::memory_left() const {
    const size_t allowed = limits_.memory_bytes / 2;
    return allowed > anonymous_bytes_ ? (allowed - anonymous_bytes_) / slab_bytes * slab_bytes : 0;
}

std::unique_ptr<Segment> SlabPool::map_segment(size_t bytes) {
    if (session_file_.is_open()) return map_file(session_file_, bytes);
    if (memory_left() != 0) return map_anonymous(std::min(bytes, memory_left()));
    if (disk_full_) return nullptr;
    if (limits_.at_limit == AtLimit::drop) return refuse("the memory limit was reached");
    if (!open_spill_file())
        return refuse("the memory limit was reached and no file for spilling can be made");
    return map_file(spill_file_, bytes);
}

std::unique_ptr<Segment> SlabPool::refuse(const char* why) {
    why_refused_ = why;
    return nullptr;
}

std::unique_ptr<Segment> SlabPool::map_anonymous(size_t bytes) {
    auto segment = std::make_unique<Segment>();
    std::byte* memory = bytes % huge_page_bytes == 0 ? map_huge_pages(bytes) : map_memory(bytes);
    if (!memory) return refuse(no_memory);
    *segment = {memory, bytes, 0, false, nullptr, 0};
    return segment;
}

std::unique_ptr<Segment> SlabPool::map_file(BackingFile& file, size_t bytes) {
    const bool is_spill = &file == &spill_file_;
    auto segment = std::make_unique<Segment>();
    // Reserved before it is mapped: writing to a hole on a full disk would be SIGBUS in the user's program.
    if (base::identity_of(file.descriptor) != file.identity ||
        base::reserve_room(file.descriptor, file.bytes, bytes) != 0) {
        disk_full_ = true;
        return refuse(is_spill ? "the memory limit was reached and the disk for spilling is full"
                               : "the disk of the session file is full");
    }
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, off_t(file.bytes));
    if (memory == MAP_FAILED) return refuse(no_memory);
    madvise(memory, bytes, MADV_DONTFORK);
    file.bytes += bytes;
    if (file.told_bytes) file.told_bytes->store(file.bytes, std::memory_order_relaxed);
    *segment = {static_cast<std::byte*>(memory), bytes, file.number, is_spill, nullptr, 0};
    return segment;
}

bool SlabPool::open_spill_file() {
    if (spill_file_.is_open()) return true;
    const std::string directory = limits_.directory.empty() ? base::temporary_directory() : limits_.directory;
    const int descriptor = base::open_unlinked(directory);
    if (descriptor < 0) return false;
    spill_file_ = {descriptor, 0, ++files_, base::identity_of(descriptor)};
    spill_on_tmpfs_ = is_tmpfs(spill_file_.descriptor);
    return true;
}

// What is mapped stays mapped; only new memory does not come from this file any more.
void SlabPool::close_spill_file() {
    if (spill_file_.is_open() && base::identity_of(spill_file_.descriptor) == spill_file_.identity)
        close(spill_file_.descriptor);
    spill_file_ = {};
    spill_on_tmpfs_ = false;
}

void SlabPool::give_up(std::unique_ptr<Segment> segment) {
    if (segment->file == 0) anonymous_bytes_ -= segment->bytes;
    left_.push_back(std::move(segment));  // there is room: adopt() has made it for all of them
}

bool SlabPool::make_room_for(Segment& segment) {
    try {
        segment.slab_count = segment.bytes / slab_bytes;
        segment.slabs = std::make_unique<Slab[]>(segment.slab_count);
        size_t slabs = segment.slab_count;
        for (const auto& other : segments_) slabs += other->slab_count;
        grow(free_, slabs);
        grow(segments_, segments_.size() + 1);
        grow(left_, left_.size() + segments_.size() + 1);
        grow(rooms_, max_rooms);
        grow(resting_, slabs);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// False, and the segment is gone, when there is no memory to keep account of it.
bool SlabPool::adopt(std::unique_ptr<Segment> segment) {
    if (!make_room_for(*segment)) {
        munmap(segment->memory, segment->bytes);
        why_refused_ = no_memory;
        return false;
    }
    if (segment->file == 0) anonymous_bytes_ += segment->bytes;
    exhausted_.store(false, std::memory_order_relaxed);
    // Behind those that are free: a segment of which nothing is used can be given back.
    size_t place = 0;
    for (size_t i = segment->slab_count; i-- > 0;) {
        Slab& slab = segment->slabs[i];
        slab.memory = segment->memory + i * slab_bytes;
        slab.segment = segment.get();
        free_.insert(free_.begin() + ptrdiff_t(place++), &slab);
    }
    segments_.push_back(std::move(segment));
    return true;
}

bool SlabPool::add_segment(size_t bytes) {
    std::unique_ptr<Segment> segment = map_segment_or_none(bytes);
    return segment && adopt(std::move(segment)) && !free_.empty();
}

// ---- life

void SlabPool::set_limits(const PoolLimits& limits) {
    limits_ = limits;
    disk_full_ = false;
    exhausted_.store(false, std::memory_order_relaxed);
}

void SlabPool::use_session_file(int descriptor, std::atomic<uint64_t>* told_bytes) {
    session_file_ = {descriptor, session_header_bytes, ++files_, base::identity_of(descriptor), told_bytes};
    collect_free_slabs();
}

void SlabPool::prepare() {
    if (free_.empty() && !add_segment(first_segment_bytes)) return;
    Slab& first = *free_.back();
    if (!first.is_ready) populate(first.memory, slab_bytes);
    first.is_ready = true;
    if (!next_slabs_are_ready()) wake_keeper();
}

void SlabPool::shrink() {
    ++keeper_generation_;
    keeper_runs_ = false;
    keeper_wakes_->notify_all();
    resting_.clear();
    rooms_.clear();
    close_spill_file();
    size_t kept = 0;
    for (auto& segment : segments_) {
        if (!is_idle(*segment)) continue;
        if (segment->file == 0 && kept + segment->bytes <= kept_bytes)
            kept += segment->bytes;
        else
            give_up(std::move(segment));
    }
    std::erase(segments_, nullptr);
    unmap_left();
    collect_free_slabs();
    // What stays is pinned by the buffers of living threads, or small; its free pages need not stay.
    for (Slab* slab : free_) {
        if (slab->segment->file != 0 || kept >= anonymous_bytes_) continue;
        madvise(slab->memory, slab_bytes, MADV_DONTNEED);
        slab->is_ready = false;
    }
}

bool SlabPool::keeps_too_much() const {
    size_t idle_bytes = 0;
    for (const auto& segment : segments_) {
        if (!is_idle(*segment)) continue;
        if (segment->file != 0) return true;
        idle_bytes += segment->bytes;
    }
    return idle_bytes > kept_bytes;
}

void SlabPool::forget_everything() {
    // Mapped files are not inherited (MADV_DONTFORK); anonymous memory is ours by copy and can go.
    for (auto* segments : {&segments_, &left_}) {
        for (auto& segment : *segments)
            if (segment->file == 0) munmap(segment->memory, segment->bytes);
        segments->clear();
    }
    free_.clear();
    rooms_.clear();
    resting_.clear();
    anonymous_bytes_ = 0;
    close_spill_file();
    session_file_ = {};
    disk_full_ = keeper_runs_ = is_forking_ = false;
    keepers_ = 0;
    ++keeper_generation_;
    // The old ones may remember a waiter that exists no more.
    keeper_wakes_ = new std::condition_variable;
    keeper_ended_ = new std::condition_variable;
}

}  // namespace kinetograph::record
