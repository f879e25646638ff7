#include "base/temporary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace kinetograph::base {

int open_unlinked(const std::string& directory) {
    int descriptor = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    // Some file systems know no O_TMPFILE.
    std::string name = directory + "/kinetograph-XXXXXX";
    descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) unlink(name.c_str());
    return descriptor;
}

FileIdentity identity_of(int descriptor) {
    struct stat info{};
    if (descriptor < 0 || fstat(descriptor, &info) != 0) return {};
    return {uint64_t(info.st_dev), uint64_t(info.st_ino)};
}

int reserve_room(int descriptor, size_t offset, size_t bytes) {
    // A tmpfs begins anew each time, so a fast timer could go on interrupting it for ever.
    constexpr int attempts = 1000;
    int error = EINTR;
    for (int i = 0; i < attempts && error == EINTR; ++i)
        error = posix_fallocate(descriptor, off_t(offset), off_t(bytes));
    return error;
}

std::string temporary_directory() {
    const char* wanted = std::getenv("TMPDIR");
    return wanted && *wanted ? wanted : "/var/tmp";
}

}  // namespace kinetograph::base
