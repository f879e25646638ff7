// How much processor time another thread of this process has used: what has not changed has not run.
#pragma once

#include <ctime>

#include <cstdint>

namespace kinetograph::collect {

class ThreadClock {
public:
    // Where the kernel counts in coarse steps a thread may run unseen, and the clock is no use.
    ThreadClock() : is_fine_(counts_what_is_short()) {}

    // Nanoseconds; -1 when not known.
    int64_t used_by(int32_t tid) const noexcept {
        timespec used;
        if (!is_fine_ || clock_gettime(clock_of(tid), &used) != 0) return -1;
        return int64_t(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
    }

private:
    // As pthread_getcpuclockid makes it, which takes threads that may have ended no more kindly than others.
    static clockid_t clock_of(int32_t tid) noexcept { return clockid_t(~unsigned(tid) << 3 | 6); }

    static bool counts_what_is_short() noexcept {
        timespec before{}, after{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        return before.tv_nsec != after.tv_nsec;
    }

    bool is_fine_;
};

}  // namespace kinetograph::collect
