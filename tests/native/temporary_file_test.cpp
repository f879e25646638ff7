// Reserving disk while signals come: they are no full disk.
#include "base/temporary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "check.h"

using namespace kinetograph;

namespace {
int interruptions = 0, calls = 0;
}

// Stands between the library and the system.
extern "C" __attribute__((visibility("default"))) int posix_fallocate(int descriptor, off_t offset,
                                                                      off_t bytes) {
    ++calls;
    if (interruptions-- > 0) return EINTR;
    return ftruncate(descriptor, offset + bytes) == 0 ? 0 : errno;
}

TEST(an_interrupted_reservation_is_made_again) {
    const int file = base::open_unlinked(base::temporary_directory());
    interruptions = 3;
    CHECK(base::reserve_room(file, 4096, 8192) == 0);
    CHECK(calls == 4);
    struct stat info{};
    CHECK(fstat(file, &info) == 0 && info.st_size == 4096 + 8192);
    close(file);
}

TEST(a_reservation_that_is_always_interrupted_fails_in_the_end) {
    const int file = base::open_unlinked(base::temporary_directory());
    interruptions = 1 << 30;
    CHECK(base::reserve_room(file, 0, 4096) == EINTR);
    close(file);
}

CHECK_MAIN
