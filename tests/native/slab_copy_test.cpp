// Copies of a slab that another process goes on writing to, and that goes from one holder to the next.
#include "record/slab_copy.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "check.h"
#include "record/extent.h"

using namespace kinetograph::record;

namespace {

struct Shared {
    alignas(64) std::byte slab[slab_bytes];
    std::atomic<uint32_t> holders;
};

// As the pool and a thread do: an empty header, then whose it is, then records.
void hold(std::byte* slab, uint32_t thread, uint32_t records) {
    auto* extent = new (slab) ExtentHeader{};
    extent->magic = extent_magic;
    extent->capacity = slab_units;
    std::atomic_thread_fence(std::memory_order_release);
    extent->kind = ExtentKind::records;
    extent->anchor.ticks = thread;
    extent->thread = thread;
    for (uint32_t i = 0; i < records; ++i) {
        extent->records()[i] = {thread, thread, thread, RecordKind::span, 0, 0, 0, 0, 0, 0};
        extent->state.store(i + 1, std::memory_order_release);
    }
}

[[noreturn]] void hold_in_turn(Shared& shared) {
    static std::byte elsewhere[slab_bytes];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t thread = 1;; ++thread) {
        hold(shared.slab, thread, thread % 2 ? slab_units : 20);
        shared.holders = thread;
        // As long as a copy takes: most that begin with this holder end with it.
        std::memcpy(elsewhere, shared.slab, slab_bytes);
    }
}

// And how many records there are. Between two holders there is nothing.
uint32_t check_one_holder(const std::byte* copy) {
    const auto& extent = *reinterpret_cast<const ExtentHeader*>(copy);
    if (extent.magic != extent_magic) return 0;
    for (uint32_t i = 0; i < extent.used(); ++i) CHECK(extent.records()[i].start == extent.thread);
    return extent.used();
}

}  // namespace

TEST(no_copy_has_records_of_two_holders) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    auto& shared = *new (memory) Shared{};
    const pid_t child = fork();
    if (child == 0) hold_in_turn(shared);
    alignas(64) static std::byte copy[slab_bytes];
    size_t copied = 0;
    // On a busy machine one may wait for its turn for long.
    for (int i = 0; i < 50'000 || shared.holders < 1'000 || copied == 0; ++i)
        if (copy_slab(shared.slab, copy)) copied += check_one_holder(copy) != 0;
    kill(child, SIGKILL);
    CHECK(waitpid(child, nullptr, 0) == child);
    munmap(memory, sizeof(Shared));
}

CHECK_MAIN
