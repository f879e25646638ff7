// A session file as somebody else left it, or is still writing it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>

#include "record/extent.h"

namespace kinetograph::record {

// Throws std::system_error of errno: "<what> <path>: <why>".
[[noreturn]] void fail_with_errno(const std::string& what, const std::string& path);

// Whether the process that records to this file still does: it holds a lock.
bool is_in_use(const std::string& path);

// The whole file, read-only; everything in it is doubted.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;

    // A copy of what a living process goes on writing: each slab as it was at one moment. Slabs that did not
    // hold still are left out and counted. The memory of the copy is that of a file in `directory`.
    MappedFile(const MappedFile& living, const std::string& directory);
    size_t left_out() const { return left_out_; }

    const std::byte* data() const { return static_cast<const std::byte*>(data_); }
    size_t bytes() const { return bytes_; }
    const SessionFileHeader& header() const { return *static_cast<const SessionFileHeader*>(data_); }

private:
    void* data_ = MAP_FAILED;
    size_t bytes_ = 0;
    size_t left_out_ = 0;
};

}  // namespace kinetograph::record
