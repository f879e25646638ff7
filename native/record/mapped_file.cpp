#include "record/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace kinetograph::record {

void fail_with_errno(const std::string& what, const std::string& path) {
    throw std::system_error(errno, std::generic_category(), what + " " + path);
}

MappedFile::MappedFile(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail_with_errno("cannot open", path);
    struct stat info{};
    fstat(descriptor, &info);
    bytes_ = size_t(info.st_size);
    if (bytes_ >= session_header_bytes) data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (data_ == MAP_FAILED) throw std::runtime_error(path + " is too short to be a session file");
}

MappedFile::~MappedFile() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
}

}  // namespace kinetograph::record
