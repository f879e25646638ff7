// Files without a name: disk as memory. Nothing is left behind, whatever happens to the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/visibility.h"

namespace kinetograph::base {

// A descriptor, or -1 with errno set.
KINETOGRAPH_API int open_unlinked(const std::string& directory);

// What a descriptor stood for when it was opened. Programs that close descriptors they do not know (to become
// a daemon, say) close ours too, and their next file gets the number: writing to it would destroy their data.
struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
};
KINETOGRAPH_API FileIdentity identity_of(int descriptor);

// Has the disk keep room for [offset, offset + bytes) of the file; an error number, 0 for success. A signal
// of the program's may come in between, which is no full disk.
KINETOGRAPH_API int reserve_room(int descriptor, size_t offset, size_t bytes);

// TMPDIR, else /var/tmp, which is on a disk where /tmp may be memory.
KINETOGRAPH_API std::string temporary_directory();

}  // namespace kinetograph::base
