#include "record/mapped_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "base/temporary_file.h"
#include "record/slab_copy.h"

namespace kinetograph::record {

void fail_with_errno(const std::string& what, const std::string& path) {
    throw std::system_error(errno, std::generic_category(), what + " " + path);
}

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
