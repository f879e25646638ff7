// Raw ticks while recording, nanoseconds of wall time afterwards.
//
// Ticks are the TSC (cntvct on ARM) where it is invariant, else CLOCK_MONOTONIC. They are tied to
// CLOCK_MONOTONIC_RAW by anchors, and once per session to CLOCK_REALTIME.
#pragma once

#include <ctime>

#include <cstdint>
#include <string>

#include "base/visibility.h"

namespace kinetograph::base {

// Numbers reach session files.
enum class TickSource : uint32_t { monotonic = 0, tsc = 1, cntvct = 2 };

KINETOGRAPH_API extern const TickSource tick_source;
KINETOGRAPH_API const char* tick_source_name(TickSource source);

inline int64_t read_clock_ns(clockid_t clock) noexcept {
    timespec now;
    clock_gettime(clock, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Whether ticks are a register of the processor's.
inline bool has_counter() noexcept {
    return tick_source != TickSource::monotonic;
}

// That register. Not serialising: a scope's own instructions may overlap the read by a few nanoseconds.
inline uint64_t read_counter() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();  // <x86intrin.h> takes longer to read than most files here
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

// From any thread.
inline uint64_t ticks() noexcept {
    if (has_counter()) [[likely]]
        return read_counter();
    return uint64_t(read_clock_ns(CLOCK_MONOTONIC));
}

// One moment on three clocks. `raw_ns` and `wall_ns` were read within `uncertainty_ns` of `ticks`.
struct ClockAnchor {
    uint64_t ticks = 0;
    int64_t raw_ns = 0;
    int64_t wall_ns = 0;
};

struct MeasuredAnchor : ClockAnchor {
    int64_t uncertainty_ticks = 0;
};

// No time of a trace is later, so that sums of two cannot overflow: whoever reads a file refuses one that is.
inline constexpr int64_t latest_ns = int64_t(1) << 61;

// Whether the numbers can be those of clocks at all; a damaged file may hold anything.
inline bool is_plausible(const ClockAnchor& anchor) noexcept {
    return anchor.ticks < uint64_t(latest_ns) && anchor.raw_ns >= 0 && anchor.raw_ns < latest_ns &&
           anchor.wall_ns >= 0 && anchor.wall_ns < latest_ns;
}

// The clocks behind an anchor; tests put a stepping wall clock here.
struct ClockSources {
    int64_t (*raw_ns)() noexcept;
    int64_t (*wall_ns)() noexcept;
};
KINETOGRAPH_API ClockSources exchange_clock_sources(ClockSources sources) noexcept;

// A careful anchor: the tightest of several tries, some hundred nanoseconds.
KINETOGRAPH_API MeasuredAnchor measure_anchor() noexcept;
// A single try, for places on the way of the program.
KINETOGRAPH_API ClockAnchor quick_anchor() noexcept;
// Taken when the library was loaded: the far end of every rate measurement.
KINETOGRAPH_API const MeasuredAnchor& process_anchor() noexcept;

// The tick about `ns` before `at`, by the rate over the life of the process; 0 when the clock had not begun
// then.
KINETOGRAPH_API uint64_t ticks_before(uint64_t at, int64_t ns) noexcept;

// Ticks to wall nanoseconds for one session: one rate, one offset, monotonic.
class ClockFit {
public:
    // `life` is the longest baseline known, `start` and `stop` bracket the session.
    KINETOGRAPH_API static ClockFit from_anchors(const MeasuredAnchor& life, const MeasuredAnchor& start,
                                                 const MeasuredAnchor& stop);

    int64_t to_wall_ns(uint64_t at) const noexcept {
        const Wide ns = origin_ns_ + (((Wide(at) - Wide(origin_ticks_)) * multiplier_) >> shift);
        return ns < 0 ? 0 : ns > latest_ns ? latest_ns : int64_t(ns);  // of damaged ticks
    }
    double ns_per_tick() const noexcept { return double(multiplier_) / double(uint64_t(1) << shift); }
    // How far a converted time may lie from CLOCK_MONOTONIC_RAW plus the session's offset.
    int64_t error_ns() const noexcept { return error_ns_; }
    // The fit will be used up to here, beyond the anchors it was made of: the doubt grows with the distance.
    void extend_to(uint64_t last_tick) noexcept;
    // For traces of several processes: the offset of one of them counts for all.
    void shift_wall(int64_t ns) noexcept { origin_ns_ += ns; }
    // How much CLOCK_REALTIME moved against CLOCK_MONOTONIC_RAW during the session: slew or step.
    int64_t wall_drift_ns() const noexcept { return wall_drift_ns_; }
    bool wall_stepped() const noexcept { return wall_stepped_; }

private:
    __extension__ using Wide = __int128;
    static constexpr int shift = 48;
    uint64_t origin_ticks_ = 0;
    int64_t origin_ns_ = 0;
    int64_t multiplier_ = int64_t(1) << shift;
    double rate_doubt_ = 0;
    int64_t fixed_error_ns_ = 0;
    int64_t error_ns_ = 0;
    int64_t wall_drift_ns_ = 0;
    bool wall_stepped_ = false;
};

}  // namespace kinetograph::base
