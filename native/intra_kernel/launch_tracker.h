// Which launches surely belong to which kernel, and what that says of the offset between their clocks.
//
// One launch may suit several kernels: those of a graph follow each other more closely than a calibration is
// to the truth. But launches come in crowds, and only one offset suits all of a crowd. So the offset is
// followed crowd by crowd, from the last launch back, as far as it can have moved in between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "intra_kernel/attribution.h"
#include "intra_kernel/kernel_index.h"

namespace kinetograph::intra_kernel {

// Times of kernels are converted by those who tell them, and not all alike.
constexpr int64_t usual_noise_ns = 1'000;
// More than any two clocks are apart in rate.
constexpr double most_drift = 100e-6;
// More than the rate of two crystals changes while a program runs.
constexpr double usual_wander = 1e-6;

// Segments that probably belong together.
struct LaunchSpan {
    int64_t first_ns, last_ns;
    uint64_t blocks;
};

// Of offsets.
struct OffsetRange {
    int64_t low_ns, high_ns;
    bool is_possible() const { return low_ns <= high_ns; }
    double middle_ns() const { return (double(low_ns) + double(high_ns)) / 2; }
    double half_ns() const { return (double(high_ns) - double(low_ns)) / 2; }
};

class LaunchTracker {
public:
    // Launches in the order of their start.
    LaunchTracker(std::span<const KernelSpan> kernels, const KernelIndex& index,
                  const std::vector<LaunchSpan>& launches, const std::vector<MeasuredOffset>& measured);

    std::vector<OffsetBounds> track();
    // That the last launch was the last kernel: others suit as well.
    bool is_guessed() const { return is_guessed_; }
    bool has_silent_kernels() const { return has_silent_kernels_; }

private:
    struct Known {
        int64_t at_ns;
        OffsetRange range;
    };
    // For the offsets with which a launch suits some kernel.
    struct Vote {
        OffsetRange range;
        size_t launch;
    };
    using Votes = std::vector<Vote>;
    using Places = std::vector<OffsetRange>;
    struct Wanted {
        Places places;
        size_t tolerance;  // how many votes more or less mean nothing
    };

    void find_rate();
    std::vector<OffsetBounds> track_from(const OffsetRange& begin);
    bool find_silent_kernels() const;
    int64_t latest_end_ns() const;
    OffsetRange measured_range() const;
    Votes first_votes(const std::optional<OffsetRange>& within) const;
    Wanted most_wanted(const Votes& votes) const;
    static bool are_close(const Places& places);
    std::optional<OffsetRange> last_kernel();

    size_t begin_of_crowd(size_t end) const;
    void follow(size_t first, size_t end, std::vector<OffsetBounds>& bounds);
    std::optional<OffsetRange> choose(const Wanted& wanted, const Votes& votes) const;
    std::optional<Votes> votes_of(size_t first, size_t end, const OffsetRange& within) const;
    std::optional<OffsetRange> kernel_of(const LaunchSpan& launch, const OffsetRange& at_crowd,
                                         int64_t at_ns) const;
    OffsetRange expected(int64_t at_ns) const;
    OffsetRange moved(const OffsetRange& range, int64_t from_ns, int64_t to_ns) const;
    void learn(Known known);

    std::span<const KernelSpan> kernels_;
    const KernelIndex& index_;
    const std::vector<LaunchSpan>& launches_;
    const std::vector<MeasuredOffset>& measured_;
    // A launch that is taken for its neighbour's finds a kernel all the same.
    bool has_silent_kernels_ = false;
    double rate_ = 0, rate_doubt_ = 0;
    std::optional<Known> begun_;  // the first crowd that told something
    Known known_{};
    bool is_guessed_ = false;
};

}  // namespace kinetograph::intra_kernel
