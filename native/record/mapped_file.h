// A session file as somebody else left it, or is still writing it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>

#include "record/extent.h"

namespace kinetograph::record {

// Throws std::system_error of errno: "<what> <path>: <why>".
[[noreturn]] void fail_with_errno(const std::string& what, const std::string& path);

// The whole file, read-only; everything in it is doubted.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;

    const std::byte* data() const { return static_cast<const std::byte*>(data_); }
    size_t bytes() const { return bytes_; }
    const SessionFileHeader& header() const { return *static_cast<const SessionFileHeader*>(data_); }

private:
    void* data_ = MAP_FAILED;
    size_t bytes_ = 0;
};

}  // namespace kinetograph::record
