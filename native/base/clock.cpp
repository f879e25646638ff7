#include "base/clock.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kinetograph::base {

namespace {

int64_t raw_now() noexcept {
    return read_clock_ns(CLOCK_MONOTONIC_RAW);
}
int64_t wall_now() noexcept {
    return read_clock_ns(CLOCK_REALTIME);
}

std::atomic<int64_t (*)() noexcept> raw_source{raw_now};
std::atomic<int64_t (*)() noexcept> wall_source{wall_now};

#if defined(__x86_64__)
// The kernel watches the TSC and leaves it when cores or sockets disagree; it knows better than CPUID alone.
bool kernel_trusts_tsc() {
    char name[32] = {};
    std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file) return false;
    const bool read = std::fgets(name, sizeof name, file) != nullptr;
    std::fclose(file);
    return read && (std::strncmp(name, "tsc", 3) == 0 || std::strncmp(name, "kvm-clock", 9) == 0 ||
                    std::strncmp(name, "hyperv", 6) == 0);
}

bool has_invariant_tsc() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx)) return false;
    return (edx & (1u << 8)) != 0;
}
#endif

TickSource choose_tick_source() {
#if defined(__x86_64__)
    if (has_invariant_tsc() && kernel_trusts_tsc()) return TickSource::tsc;
    return TickSource::monotonic;
#elif defined(__aarch64__)
    return TickSource::cntvct;
#else
    return TickSource::monotonic;
#endif
}

}  // namespace

const TickSource tick_source = choose_tick_source();

namespace {
const MeasuredAnchor load_anchor = measure_anchor();
}

const char* tick_source_name(TickSource source) {
    switch (source) {
        case TickSource::tsc:
            return "tsc";
        case TickSource::cntvct:
            return "cntvct";
        case TickSource::monotonic:
            break;
    }
    return "monotonic";
}

ClockSources exchange_clock_sources(ClockSources sources) noexcept {
    return {raw_source.exchange(sources.raw_ns ? sources.raw_ns : raw_now),
            wall_source.exchange(sources.wall_ns ? sources.wall_ns : wall_now)};
}

ClockAnchor quick_anchor() noexcept {
    ClockAnchor anchor;
    anchor.ticks = ticks();
    anchor.raw_ns = raw_source.load(std::memory_order_relaxed)();
    anchor.wall_ns = wall_source.load(std::memory_order_relaxed)();
    return anchor;
}

MeasuredAnchor measure_anchor() noexcept {
    const auto raw = raw_source.load(std::memory_order_relaxed);
    const auto wall = wall_source.load(std::memory_order_relaxed);
    MeasuredAnchor best;
    best.uncertainty_ticks = INT64_MAX;
    int64_t wall_offset_ns = 0, offset_doubt_ns = INT64_MAX;
    // The two pairs are judged apart: whichever read the thread was interrupted in, the other may be good.
    for (int attempt = 0; attempt < 5; ++attempt) {
        const uint64_t before = ticks();
        const int64_t raw_ns = raw();
        const uint64_t after = ticks();
        const int64_t wall_ns = wall();
        const int64_t raw_again_ns = raw();
        if (const int64_t width = int64_t(after - before); width < best.uncertainty_ticks) {
            best.ticks = before + uint64_t(width) / 2;
            best.raw_ns = raw_ns;
            best.uncertainty_ticks = width;
        }
        if (const int64_t width_ns = raw_again_ns - raw_ns; width_ns < offset_doubt_ns) {
            wall_offset_ns = wall_ns - raw_ns - width_ns / 2;
            offset_doubt_ns = width_ns;
        }
    }
    best.wall_ns = best.raw_ns + wall_offset_ns;
    return best;
}

const MeasuredAnchor& process_anchor() noexcept {
    return load_anchor;
}

uint64_t ticks_before(uint64_t at, int64_t ns) noexcept {
    const ClockAnchor now = quick_anchor();
    const double elapsed_ticks = double(now.ticks - load_anchor.ticks);
    const double elapsed_ns = std::max(1.0, double(now.raw_ns - load_anchor.raw_ns));
    const double span = double(ns) * elapsed_ticks / elapsed_ns;
    return span < double(at) ? at - uint64_t(span) : 0;
}

namespace {

double rate_between(const ClockAnchor& from, const ClockAnchor& to) {
    const double rate = double(to.raw_ns - from.raw_ns) / double(int64_t(to.ticks - from.ticks));
    return rate > 1e-3 && rate < 1e3 ? rate : 1.0;  // no clock ticks faster or slower than that
}

// Suspend stops CLOCK_MONOTONIC_RAW but maybe not the TSC: then the long baseline is spoilt, and shows it by
// disagreeing with a session long enough to judge by itself.
bool baseline_is_spoilt(double life_rate, const MeasuredAnchor& start, const MeasuredAnchor& stop) {
    constexpr int64_t long_enough_ns = 20'000'000;
    if (stop.raw_ns - start.raw_ns < long_enough_ns) return false;
    return std::abs(rate_between(start, stop) / life_rate - 1.0) > 1e-4;
}

}  // namespace

ClockFit ClockFit::from_anchors(const MeasuredAnchor& life, const MeasuredAnchor& start,
                                const MeasuredAnchor& stop) {
    const MeasuredAnchor* from = stop.ticks > life.ticks && stop.raw_ns > life.raw_ns ? &life : &start;
    double rate = stop.ticks > from->ticks ? rate_between(*from, stop) : 1.0;
    if (baseline_is_spoilt(rate, start, stop)) {
        from = &start;
        rate = rate_between(start, stop);
    }
    const double session_ns = double(stop.raw_ns - start.raw_ns);
    const double baseline_ns = std::max(1.0, double(stop.raw_ns - from->raw_ns));
    const double rate_doubt = double(from->uncertainty_ticks + stop.uncertainty_ticks) * rate / baseline_ns;

    ClockFit fit;
    fit.origin_ticks_ = start.ticks;
    fit.origin_ns_ = start.wall_ns;
    fit.multiplier_ = std::llround(rate * double(uint64_t(1) << shift));
    fit.rate_doubt_ = rate_doubt;
    fit.fixed_error_ns_ = std::llround(std::ceil(double(start.uncertainty_ticks) * rate)) + 1;
    fit.extend_to(stop.ticks);
    fit.wall_drift_ns_ = (stop.wall_ns - stop.raw_ns) - (start.wall_ns - start.raw_ns);
    // NTP slews by at most 500 ppm; more than that in so short a time is a step.
    fit.wall_stepped_ = std::abs(double(fit.wall_drift_ns_)) > 1e6 + 6e-4 * session_ns;
    return fit;
}

void ClockFit::extend_to(uint64_t last_tick) noexcept {
    const double distance_ns = std::abs(double(int64_t(last_tick - origin_ticks_))) * ns_per_tick();
    error_ns_ = fixed_error_ns_ + std::llround(std::min(rate_doubt_ * distance_ns, 1e18));
}

}  // namespace kinetograph::base
