#include "intra_kernel/attribution.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "intra_kernel/kernel_index.h"
#include "intra_kernel/launch_tracker.h"

namespace kinetograph::intra_kernel {

namespace {

std::vector<LaunchSpan> launches_of(std::span<const SegmentSpan> segments) {
    std::unordered_map<uint64_t, size_t> known;
    std::vector<LaunchSpan> launches;
    for (const SegmentSpan& segment : segments) {
        const auto [at, is_new] = known.try_emplace(segment.launch, launches.size());
        if (is_new) launches.push_back({segment.first_ns, segment.last_ns, segment.blocks});
        LaunchSpan& launch = launches[at->second];
        launch.first_ns = std::min(launch.first_ns, segment.first_ns);
        launch.last_ns = std::max(launch.last_ns, segment.last_ns);
    }
    std::sort(launches.begin(), launches.end(),
              [](const LaunchSpan& a, const LaunchSpan& b) { return a.first_ns < b.first_ns; });
    return launches;
}

// Gives each segment to the kernel in whose span it lies. Where kernels of one grid run at the same time, a
// block that one of them had already is another's; else the one that ends first is served first.
class Assignment {
public:
    Assignment(std::span<const SegmentSpan> segments, std::span<const KernelSpan> kernels,
               const KernelIndex& index, Attribution& result)
        : segments_(segments), kernels_(kernels), index_(index), result_(result) {}

    void assign() {
        std::vector<uint32_t> order(segments_.size());
        for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return segments_[a].first_ns < segments_[b].first_ns;
        });
        for (const uint32_t number : order) result_.kernels[number] = kernel_of(segments_[number]);
    }

private:
    struct Candidate {
        uint32_t kernel = Attribution::no_kernel;
        bool is_taken = true;
        int64_t overhang_ns = INT64_MAX;  // how far the segment passes the edges of the kernel
        int64_t end_ns = INT64_MAX;
        bool operator<(const Candidate& other) const {
            if (is_taken != other.is_taken) return !is_taken;
            if (overhang_ns != other.overhang_ns) return overhang_ns < other.overhang_ns;
            return end_ns < other.end_ns;
        }
    };

    uint32_t kernel_of(const SegmentSpan& segment) {
        const int64_t offset_ns = result_.fit->offset_ns(segment.first_ns);
        const int64_t doubt_ns = result_.fit->doubt_ns(segment.first_ns) + usual_noise_ns;
        const int64_t first_ns = segment.first_ns + offset_ns, last_ns = segment.last_ns + offset_ns;
        Candidate best;
        int equals = 0;
        index_.around(segment.blocks, first_ns + doubt_ns, last_ns - doubt_ns, [&](uint32_t number) {
            const KernelSpan& kernel = kernels_[number];
            const Candidate found{number, seen_.contains(key(number, segment)),
                                  std::max<int64_t>({0, kernel.start_ns - first_ns, last_ns - kernel.end_ns}),
                                  kernel.end_ns};
            const bool is_equal = found.is_taken == best.is_taken && found.overhang_ns == best.overhang_ns;
            equals = is_equal ? equals + 1 : found < best ? 0 : equals;
            if (found < best) best = found;
        });
        if (best.kernel == Attribution::no_kernel) return best.kernel;
        result_.doubtful += equals > 0 || best.is_taken;
        seen_.insert(key(best.kernel, segment));
        return best.kernel;
    }

    static uint64_t key(uint32_t kernel, const SegmentSpan& segment) {
        return uint64_t(kernel) << 40 ^ segment.place;
    }

    std::span<const SegmentSpan> segments_;
    std::span<const KernelSpan> kernels_;
    const KernelIndex& index_;
    Attribution& result_;
    std::unordered_set<uint64_t> seen_;
};

void find_bounds(std::span<const SegmentSpan> segments, std::span<const KernelSpan> kernels,
                 Attribution& result) {
    for (size_t i = 0; i < segments.size(); ++i) {
        if (result.kernels[i] == Attribution::no_kernel) continue;
        const KernelSpan& kernel = kernels[result.kernels[i]];
        OffsetBounds& bounds = result.bounds[result.kernels[i]];
        const bool is_first = bounds.low_ns == INT64_MIN;
        bounds.at_ns = is_first ? segments[i].first_ns : std::min(bounds.at_ns, segments[i].first_ns);
        bounds.low_ns = std::max(bounds.low_ns, kernel.start_ns - segments[i].first_ns);
        bounds.high_ns = std::min(bounds.high_ns, kernel.end_ns - segments[i].last_ns);
    }
}

std::vector<OffsetBounds> seen_bounds(const std::vector<OffsetBounds>& bounds) {
    std::vector<OffsetBounds> seen;
    std::copy_if(bounds.begin(), bounds.end(), std::back_inserter(seen),
                 [](const OffsetBounds& each) { return each.low_ns != INT64_MIN && each.is_possible(); });
    return seen;
}

// Kernels that follow each other more closely than a calibration can tell are told apart by what they say
// together: moved by one, a launch at the edge of all kernels would have none, if each of them recorded.
bool is_whole(std::span<const SegmentSpan> segments, std::span<const KernelSpan> kernels,
              const Attribution& result) {
    constexpr int64_t edge_ns = 100'000;
    for (size_t i = 0; i < segments.size(); ++i) {
        if (result.kernels[i] != Attribution::no_kernel) continue;
        const int64_t at_ns = segments[i].first_ns + result.fit->offset_ns(segments[i].first_ns);
        if (kernels.empty() ||
            (at_ns > kernels.front().start_ns - edge_ns && at_ns < kernels.back().end_ns + edge_ns))
            return false;
    }
    return !seen_bounds(result.bounds).empty();
}

// Kernels that are closer to each other than the clocks are known may have each other's segments.
uint64_t between_neighbours(std::span<const SegmentSpan> segments, const KernelIndex& index,
                            const Attribution& result) {
    uint64_t found = 0;
    for (size_t i = 0; i < segments.size(); ++i) {
        if (result.kernels[i] == Attribution::no_kernel) continue;
        const int64_t offset_ns = result.fit->offset_ns(segments[i].first_ns);
        const int64_t doubt_ns = result.fit->doubt_ns(segments[i].first_ns);
        int suitable = 0;
        index.around(segments[i].blocks, segments[i].first_ns + offset_ns + doubt_ns,
                     segments[i].last_ns + offset_ns - doubt_ns, [&](uint32_t) { ++suitable; });
        found += suitable > 1;
    }
    return found;
}

// How far from any calibration a launch was.
int64_t distance_ns(const std::vector<MeasuredOffset>& measured, const std::vector<LaunchSpan>& launches) {
    int64_t farthest_ns = 0;
    for (const LaunchSpan& launch : launches) {
        int64_t nearest_ns = INT64_MAX;
        for (const MeasuredOffset& each : measured)
            nearest_ns = std::min(nearest_ns, std::abs(each.at_ns - launch.first_ns));
        farthest_ns = std::max(farthest_ns, nearest_ns);
    }
    return farthest_ns;
}

// Without kernels: as good as the calibrations, and worse with the distance to the nearest. Two or more also
// tell the rate.
OffsetFit fit_of(const std::vector<MeasuredOffset>& measured, const std::vector<LaunchSpan>& launches) {
    const double doubt = measured.size() == 1 ? most_drift : usual_wander;
    const int64_t doubt_ns = int64_t(double(distance_ns(measured, launches)) * doubt);
    if (measured.size() == 1) return {measured[0].offset_ns, measured[0].error_ns + doubt_ns};
    std::vector<OffsetBounds> bounds;
    for (const MeasuredOffset& each : measured) {
        const int64_t error_ns = each.error_ns + doubt_ns;
        bounds.push_back({each.at_ns, each.offset_ns - error_ns, each.offset_ns + error_ns});
    }
    return OffsetFit(bounds);
}

}  // namespace

Attribution attribute(std::span<const SegmentSpan> segments, std::span<const KernelSpan> kernels,
                      const std::vector<MeasuredOffset>& measured) {
    Attribution result;
    result.kernels.assign(segments.size(), Attribution::no_kernel);
    result.bounds.assign(kernels.size(), {0, INT64_MIN, INT64_MAX});
    const KernelIndex index(kernels);
    const std::vector<LaunchSpan> launches = launches_of(segments);
    LaunchTracker tracker(kernels, index, launches, measured);
    const std::vector<OffsetBounds> bounds = tracker.track();
    result.is_guessed = tracker.is_guessed();
    result.is_bounded = !bounds.empty();
    if (result.is_bounded)
        result.fit.emplace(bounds);
    else if (!measured.empty())
        result.fit = fit_of(measured, launches);
    if (!result.fit) return result;
    Assignment(segments, kernels, index, result).assign();
    find_bounds(segments, kernels, result);
    const bool is_told_by_all = !tracker.has_silent_kernels() && is_whole(segments, kernels, result);
    if (result.doubtful == 0 && (result.is_bounded || is_told_by_all)) {
        result.is_bounded = true;
        result.fit.emplace(seen_bounds(result.bounds));
    }
    if (!result.is_bounded)
        result.doubtful = std::max(result.doubtful, between_neighbours(segments, index, result));
    return result;
}

}  // namespace kinetograph::intra_kernel
