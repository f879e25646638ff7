// The pool's keeper makes memory ready ahead; what it has in hand is no other thread's loss.
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "check.h"
#include "record/recorder.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
namespace fs = std::filesystem;

namespace {

constexpr size_t first_bytes = 16 * record::slab_bytes;
// How many slabs the keeper makes ready before it is held up, and what became of the others.
std::atomic<int> quick{INT_MAX}, waiting{0}, misses{0};

}  // namespace

// The kernel takes its time to make pages ready in another thread than ours.
#pragma GCC visibility push(default)
extern "C" int madvise(void* memory, size_t bytes, int advice) noexcept {
    constexpr int populate_write = 23;
    const bool is_keepers = advice == populate_write && gettid() != getpid();
    if (is_keepers && --quick < 0) ++waiting;
    while (is_keepers && quick.load() < 0) std::this_thread::yield();
    const int result = int(syscall(SYS_madvise, memory, bytes, advice));
    if (is_keepers && result != 0 && errno == ENOMEM) ++misses;  // nothing is mapped there
    return result;
}
#pragma GCC visibility pop

namespace {

struct FullDisk {
    explicit FullDisk(size_t file_bytes) {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{file_bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
    rlimit before_{};
};

void mark() {
    const uint64_t now = base::ticks();
    record::append(*record::recording_thread(), {now, now, 1, record::RecordKind::instant, 8, 0, 0, 0, 0, 0});
}

}  // namespace

// By the end of a session its memory may be another's. The first segment is kept for the next one.
TEST(the_keeper_works_in_no_memory_that_was_given_back) {
    quick = int(first_bytes / record::slab_bytes) - 1;
    const auto session = Recorder::instance().start({});
    mark();
    while (waiting == 0) std::this_thread::yield();
    Recorder::instance().stop(session);
    quick = INT_MAX;
    const pid_t child = fork();  // which waits for the keeper to end
    if (child == 0) _exit(0);
    CHECK(waitpid(child, nullptr, 0) == child);
    CHECK(misses == 0);
}

TEST(what_the_keeper_makes_ready_is_not_refused_meanwhile) {
    char name[] = "/tmp/kinetograph-test-XXXXXX";
    const std::string directory = mkdtemp(name);
    const size_t file_bytes = record::session_header_bytes + first_bytes + record::segment_bytes;
    const FullDisk disk(file_bytes);
    quick = int(first_bytes / record::slab_bytes) - 1;
    record::SessionOptions options;
    options.session_directory = directory;
    const auto session = Recorder::instance().start(options);
    mark();
    const fs::path file = fs::directory_iterator(directory)->path();
    while (fs::file_size(file) < file_bytes) std::this_thread::yield();
    constexpr size_t slabs = 70;
    for (size_t i = 0; i < slabs * record::slab_units; ++i) mark();
    quick = INT_MAX;
    const record::Recording recording = Recorder::instance().stop(session);
    CHECK(recording.threads.at(0).losses.dropped == 0);
    fs::remove_all(directory);
}

CHECK_MAIN
