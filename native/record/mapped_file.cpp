#include "record/mapped_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/temporary_file.h"

namespace kinetograph::record {

void fail_with_errno(const std::string& what, const std::string& path) {
    throw std::system_error(errno, std::generic_category(), what + " " + path);
}

namespace {

// The headers of a slab, one behind the other, as far as they make sense.
std::vector<size_t> extents_in(const std::byte* slab) {
    std::vector<size_t> places;
    for (size_t at = 0; at + sizeof(ExtentHeader) <= slab_bytes;) {
        const auto& extent = *reinterpret_cast<const ExtentHeader*>(slab + at);
        if (extent.magic != extent_magic || extent.capacity > slab_units) break;
        places.push_back(at);
        at += extent.total_bytes();
    }
    return places;
}

ExtentHeader& header_at(std::byte* slab, size_t place) {
    return *reinterpret_cast<ExtentHeader*>(slab + place);
}

const ExtentHeader& header_at(const std::byte* slab, size_t place) {
    return *reinterpret_cast<const ExtentHeader*>(slab + place);
}

bool has_same_state(const ExtentHeader& before, const ExtentHeader& now) {
    return now.state.load(std::memory_order_relaxed) == before.state.load(std::memory_order_relaxed);
}

// Nobody has used the memory for something else meanwhile.
bool is_same(const ExtentHeader& before, const ExtentHeader& now) {
    return now.magic == before.magic && now.kind == before.kind && now.capacity == before.capacity &&
           now.thread == before.thread && now.order == before.order &&
           now.anchor.ticks == before.anchor.ticks;
}

// Records and items may have been added, behind those that were counted before. Open scopes change in place,
// and so does what is told of operators, which is only left out: it seldom holds still.
bool settle(ExtentHeader& copied, const ExtentHeader& now) {
    if (!is_same(copied, now)) return false;
    if (copied.kind == ExtentKind::told && !has_same_state(copied, now))
        copied.state.store(0, std::memory_order_relaxed);
    return copied.kind != ExtentKind::stack || has_same_state(copied, now);
}

bool try_to_copy(const std::byte* slab, std::byte* copy) {
    const std::vector<size_t> places = extents_in(slab);
    std::vector<uint64_t> states;
    for (const size_t place : places)
        states.push_back(header_at(slab, place).state.load(std::memory_order_acquire));
    std::memcpy(copy, slab, slab_bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (extents_in(copy) != places) return false;
    for (size_t i = 0; i < places.size(); ++i) {
        header_at(copy, places[i]).state.store(states[i], std::memory_order_relaxed);
        if (!settle(header_at(copy, places[i]), header_at(slab, places[i]))) return false;
    }
    return true;
}

// False, and the copy is empty, when it never held still.
bool copy_slab(const std::byte* slab, std::byte* copy) {
    for (int attempt = 0; attempt < 100; ++attempt)
        if (try_to_copy(slab, copy)) return true;
    std::memset(copy, 0, slab_bytes);
    return false;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
    // A pipe would be waited for.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) fail_with_errno("cannot open", path);
    struct stat info{};
    fstat(descriptor, &info);
    if (!S_ISREG(info.st_mode)) {
        close(descriptor);
        throw std::runtime_error(path + " is no file");
    }
    bytes_ = size_t(info.st_size);
    if (bytes_ >= session_header_bytes) data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (data_ == MAP_FAILED) throw std::runtime_error(path + " is too short to be a session file");
}

// A shared lock is had as soon as the process that records has let go of its own.
bool is_in_use(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false;
    const bool is_locked = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return is_locked;
}

MappedFile::MappedFile(const MappedFile& living, const std::string& directory) : bytes_(living.bytes_) {
    const std::string chosen = directory.empty() ? base::temporary_directory() : directory;
    const int descriptor = base::open_unlinked(chosen);
    if (descriptor < 0) fail_with_errno("cannot make a copy in", chosen);
    if (const int error = base::reserve_room(descriptor, 0, bytes_); error == 0)
        data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    else
        errno = error;
    if (data_ == MAP_FAILED) {
        const int error = errno;
        close(descriptor);
        errno = error;
        fail_with_errno("cannot make a copy in", chosen);
    }
    close(descriptor);
    auto* copy = static_cast<std::byte*>(data_);
    std::memcpy(copy, living.data(), session_header_bytes);
    for (size_t at = session_header_bytes; at + slab_bytes <= bytes_; at += slab_bytes)
        left_out_ += !copy_slab(living.data() + at, copy + at);
}

MappedFile::~MappedFile() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
}

}  // namespace kinetograph::record
