#include "record/session_file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "record/mapped_file.h"

namespace kinetograph::record {

namespace {

ssize_t read_small_file(const char* path, char* into, size_t room) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    const ssize_t bytes = read(descriptor, into, room - 1);
    close(descriptor);
    return bytes;
}

void copy_command_line(char (&into)[256]) {
    const ssize_t bytes = read_small_file("/proc/self/cmdline", into, sizeof into);
    for (ssize_t i = 0; i + 1 < bytes; ++i)
        if (into[i] == '\0') into[i] = ' ';
}

}  // namespace

void read_boot_id(char (&into)[40]) {
    read_small_file("/proc/sys/kernel/random/boot_id", into, sizeof into);
}

SessionFile::SessionFile(const std::string& directory, const base::MeasuredAnchor& start,
                         std::string_view process_name)
    : directory_(directory) {
    if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
        fail_with_errno("cannot make directory", directory);
    path_ = directory + "/" + std::to_string(getpid()) + "-" + std::to_string(start.wall_ns) +
            session_file_suffix;
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail_with_errno("cannot create", path_);
    identity_ = base::identity_of(descriptor_);
    // Held until the process ends or executes another program: how others see that it still records. Somebody
    // who is just looking has a lock too, for a moment.
    for (int attempt = 0; attempt < 1000 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++attempt)
        sched_yield();
    const int error = base::reserve_room(descriptor_, 0, session_header_bytes);
    void* memory = MAP_FAILED;
    if (error == 0)
        memory = mmap(nullptr, session_header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) {
        if (error) errno = error;
        unlink(path_.c_str());
        close(descriptor_);
        fail_with_errno("cannot reserve", path_);
    }
    madvise(memory, session_header_bytes, MADV_DONTFORK);
    header_ = new (memory) SessionFileHeader{};
    header_->version = session_file_version;
    header_->tick_source = base::tick_source;
    header_->pid = getpid();
    header_->start = start;
    header_->start_uncertainty_ticks = start.uncertainty_ticks;
    header_->process = base::process_anchor();
    header_->process_uncertainty_ticks = base::process_anchor().uncertainty_ticks;
    copy_command_line(header_->command);
    read_boot_id(header_->boot_id);
    header_->parent_pid = getppid();
    set_process_name(process_name);
    std::memcpy(header_->magic, session_file_magic, sizeof header_->magic);
}

SessionFile::~SessionFile() {
    if (header_) munmap(header_, session_header_bytes);
    if (descriptor_ >= 0 && base::identity_of(descriptor_) == identity_) close(descriptor_);
}

void SessionFile::set_process_name(std::string_view name) {
    char (&field)[sizeof header_->process_name] = header_->process_name;
    const size_t length = name.copy(field, sizeof field - 1);
    std::memset(field + length, 0, sizeof field - length);
}

void SessionFile::remove() {
    unlink(path_.c_str());
}

void SessionFile::abandon() {
    header_ = nullptr;
}

}  // namespace kinetograph::record
