#include "trace/column.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/temporary_file.h"

namespace kinetograph::trace {

namespace {

constexpr size_t heap_limit = 64 << 10;

size_t page_bytes() {
    static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Area::~Area() {
    if (mapped_) {
        munmap(data_, capacity_);
    } else {
        std::free(data_);
    }
    if (descriptor_ >= 0) close(descriptor_);
}

void Area::grow(size_t bytes) {
    if (bytes <= capacity_) return;
    if (bytes <= heap_limit) {
        grow_on_heap(bytes);
    } else {
        grow_mapping(round_up(bytes, page_bytes()));
    }
}

void Area::grow_on_heap(size_t bytes) {
    void* larger = std::realloc(data_, bytes);
    if (larger == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(larger);
    std::memset(data_ + capacity_, 0, bytes - capacity_);
    capacity_ = bytes;
}

void Area::grow_mapping(size_t bytes) {
    if (!directory_.empty() && !reserve_in_file(bytes)) leave_file();
    std::byte* larger = map(bytes);
    if (!mapped_) {
        if (capacity_ > 0) std::memcpy(larger, data_, capacity_);
        std::free(data_);
        mapped_ = true;
    }
    data_ = larger;
    capacity_ = bytes;
}

// A hole in a mapped file would turn a full disk into SIGBUS at some later store, so blocks are there before
// the mapping grows.
bool Area::reserve_in_file(size_t bytes) {
    if (descriptor_ < 0) descriptor_ = base::open_unlinked(directory_);
    return descriptor_ >= 0 && base::reserve_room(descriptor_, 0, bytes) == 0;
}

// The disk is full. More memory than was allowed is better than no trace.
void Area::leave_file() {
    directory_.clear();
    const int descriptor = std::exchange(descriptor_, -1);
    if (mapped_) {
        std::byte* in_file = std::exchange(data_, nullptr);
        mapped_ = false;
        std::byte* in_memory = map(capacity_);
        std::memcpy(in_memory, in_file, capacity_);
        munmap(in_file, capacity_);
        data_ = in_memory;
        mapped_ = true;
    }
    if (descriptor >= 0) close(descriptor);
}

std::byte* Area::map(size_t bytes) {
    void* address;
    if (mapped_) {
        address = mremap(data_, capacity_, bytes, MREMAP_MAYMOVE);
    } else {
        const int sharing = descriptor_ >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
        address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing, descriptor_, 0);
    }
    if (address == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(address);
}

void Area::drop_pages(size_t begin, size_t end) const {
    if (!in_file()) return;
    begin = round_up(begin, page_bytes());
    end = std::min(end, capacity_) / page_bytes() * page_bytes();
    if (begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace kinetograph::trace
