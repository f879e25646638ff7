#include "trace/column.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

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

// A file without a name, so that nothing is left behind whatever happens to the process.
int open_unlinked(const std::string& directory) {
    int descriptor = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    std::string path = directory + "/kinetograph-XXXXXX";
    descriptor = mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) throw std::bad_alloc();
    unlink(path.c_str());
    return descriptor;
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
    if (descriptor_ < 0 && !directory_.empty()) descriptor_ = open_unlinked(directory_);
    // A hole in a mapped file would turn a full disk into SIGBUS at some later store. Blocks that are there
    // before the mapping grows turn it into an exception here.
    if (descriptor_ >= 0 && posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes)) != 0)
        throw std::bad_alloc();
    std::byte* larger = map(bytes);
    if (!mapped_) {
        if (capacity_ > 0) std::memcpy(larger, data_, capacity_);
        std::free(data_);
        mapped_ = true;
    }
    data_ = larger;
    capacity_ = bytes;
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
