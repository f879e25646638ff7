#include "intra_kernel/attribution.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "intra_kernel/kernel_index.h"

namespace kinetograph::intra_kernel {

namespace {

// More than any two clocks are apart in rate.
constexpr double most_drift = 100e-6;
// More than the rate of two crystals changes while a program runs.
constexpr double usual_wander = 1e-6;
// Times of kernels are converted by those who tell them, and not all alike.
constexpr int64_t usual_noise_ns = 1'000;
// Pairs of launches and kernels that are looked at to find where to begin.
constexpr size_t most_pairs = 2'000'000;
constexpr size_t fewest_voters = 16;

int64_t drift_ns(int64_t from_ns, int64_t to_ns) {
    return int64_t(double(from_ns > to_ns ? from_ns - to_ns : to_ns - from_ns) * most_drift);
}

// Segments that probably belong together.
struct LaunchSpan {
    int64_t first_ns, last_ns;
    uint64_t blocks;
};

struct Range {
    int64_t low_ns, high_ns;
    int64_t middle_ns() const { return low_ns + (high_ns - low_ns) / 2; }
};

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

// The offsets with which the launch lies within the kernel.
Range offsets_of(const LaunchSpan& launch, const KernelSpan& kernel) {
    return {kernel.start_ns - launch.first_ns, kernel.end_ns - launch.last_ns};
}

// Where most ranges overlap. Nothing, where two places that have nothing in common are as good.
std::optional<Range> most_wanted(const std::vector<Range>& ranges) {
    struct Edge {
        int64_t at_ns;
        int change;
    };
    std::vector<Edge> edges;
    for (const Range& range : ranges) {
        edges.push_back({range.low_ns, 1});
        edges.push_back({range.high_ns, -1});
    }
    std::sort(edges.begin(), edges.end(),
              [](Edge a, Edge b) { return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.change > b.change; });
    int votes = 0, most = 0, places = 0;
    Range best{};
    for (size_t i = 0; i + 1 < edges.size(); ++i) {
        votes += edges[i].change;
        if (edges[i].change < 0 || votes < most) continue;
        // A peak is where the next edge goes down.
        if (edges[i + 1].change > 0) continue;
        if (votes == most && edges[i].at_ns - best.high_ns < 2 * usual_noise_ns) {
            best.high_ns = edges[i + 1].at_ns;
            continue;
        }
        places = votes > most ? 1 : places + 1;
        most = votes;
        best = {edges[i].at_ns, edges[i + 1].at_ns};
    }
    return places == 1 ? std::optional(best) : std::nullopt;
}

// Finds which launches surely belong to which kernel, from the last one back, and what that says.
class Tracker {
public:
    Tracker(std::span<const KernelSpan> kernels, const KernelIndex& index,
            const std::vector<LaunchSpan>& launches)
        : kernels_(kernels), index_(index), launches_(launches) {}

    std::vector<OffsetBounds> track(const MeasuredOffset* measured) {
        std::vector<OffsetBounds> bounds;
        const std::optional<Range> begin = where_to_begin(measured);
        if (!begin) return bounds;
        int64_t at_ns = launches_.back().first_ns, offset_ns = begin->middle_ns();
        int64_t doubt_ns = (begin->high_ns - begin->low_ns) / 2;
        for (size_t i = launches_.size(); i-- > 0;) {
            const LaunchSpan& launch = launches_[i];
            doubt_ns += drift_ns(at_ns, launch.first_ns);
            at_ns = launch.first_ns;
            const std::optional<Range> found = kernel_of(launch, offset_ns, doubt_ns);
            if (!found) continue;
            bounds.push_back({launch.first_ns, found->low_ns, found->high_ns});
            offset_ns = std::clamp(offset_ns, found->low_ns, found->high_ns);
            doubt_ns = std::min(doubt_ns, (found->high_ns - found->low_ns) / 2);
        }
        return bounds;
    }

    bool is_guessed() const { return is_guessed_; }

private:
    // Only where no kernel suits it may be that its times were converted badly: its neighbours may be closer.
    std::optional<Range> kernel_of(const LaunchSpan& launch, int64_t offset_ns, int64_t doubt_ns) const {
        const std::optional<Range> found = only_one(launch, offset_ns, doubt_ns);
        return found ? found : only_one(launch, offset_ns, doubt_ns + usual_noise_ns);
    }

    // What the only kernel says that the launch can belong to.
    std::optional<Range> only_one(const LaunchSpan& launch, int64_t offset_ns, int64_t doubt_ns) const {
        std::optional<Range> found;
        int count = 0;
        index_.around(launch.blocks, launch.first_ns + offset_ns + doubt_ns,
                      launch.last_ns + offset_ns - doubt_ns, [&](uint32_t number) {
                          const Range range = offsets_of(launch, kernels_[number]);
                          if (range.low_ns > range.high_ns) return;
                          found = range;
                          ++count;
                      });
        return count == 1 ? found : std::nullopt;
    }

    std::optional<Range> where_to_begin(const MeasuredOffset* measured) {
        if (launches_.empty()) return std::nullopt;
        if (measured) {
            const int64_t doubt_ns =
                measured->error_ns + usual_noise_ns + drift_ns(measured->at_ns, launches_.back().first_ns);
            const Range within{measured->offset_ns - doubt_ns, measured->offset_ns + doubt_ns};
            const std::vector<Range> ranges = votes(within);
            if (!ranges.empty()) return most_wanted(ranges).value_or(within);
        }
        const std::optional<Range> wanted = most_wanted(votes(std::nullopt));
        return wanted ? wanted : last_kernel();
    }

    // Launches that follow one another as evenly as kernels do could be any of them.
    std::optional<Range> last_kernel() {
        const LaunchSpan& launch = launches_.back();
        std::optional<Range> found;
        index_.each(launch.blocks, [&](uint32_t number) {
            const Range range = offsets_of(launch, kernels_[number]);
            if (range.low_ns <= range.high_ns && (!found || range.low_ns > found->low_ns)) found = range;
        });
        is_guessed_ = found.has_value();
        return found;
    }

    // Each pair of launch and kernel that may belong together has a vote; the last launches are asked, for
    // clocks drift.
    std::vector<Range> votes(const std::optional<Range>& within) const {
        std::vector<Range> ranges;
        size_t voters = 0, pairs = 0;
        for (size_t i = launches_.size(); i-- > 0;) {
            const LaunchSpan& launch = launches_[i];
            pairs += index_.count(launch.blocks);
            if (++voters > fewest_voters && pairs > most_pairs) break;
            const int64_t doubt_ns = drift_ns(launch.first_ns, launches_.back().first_ns);
            if (doubt_ns > 10 * usual_noise_ns && voters > fewest_voters) break;
            index_.each(launch.blocks, [&](uint32_t number) {
                Range range = offsets_of(launch, kernels_[number]);
                if (range.low_ns > range.high_ns) return;
                range = {range.low_ns - doubt_ns, range.high_ns + doubt_ns};
                if (within)
                    range = {std::max(range.low_ns, within->low_ns),
                             std::min(range.high_ns, within->high_ns)};
                if (range.low_ns <= range.high_ns) ranges.push_back(range);
            });
        }
        return ranges;
    }

    std::span<const KernelSpan> kernels_;
    const KernelIndex& index_;
    const std::vector<LaunchSpan>& launches_;
    bool is_guessed_ = false;
};

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
        const int64_t doubt_ns = result_.fit->error_ns() + usual_noise_ns;
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
        bounds.at_ns = segments[i].first_ns;
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
// together: moved by one, a launch at the edge of all kernels would have none.
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
    Tracker tracker(kernels, index, launches);
    const std::vector<OffsetBounds> bounds = tracker.track(measured.empty() ? nullptr : &measured.back());
    result.is_guessed = tracker.is_guessed();
    result.is_bounded = !bounds.empty();
    if (result.is_bounded)
        result.fit.emplace(bounds);
    else if (!measured.empty())
        result.fit = fit_of(measured, launches);
    if (!result.fit) return result;
    Assignment(segments, kernels, index, result).assign();
    find_bounds(segments, kernels, result);
    if (result.doubtful == 0 && (result.is_bounded || is_whole(segments, kernels, result))) {
        result.is_bounded = true;
        result.fit.emplace(seen_bounds(result.bounds));
    }
    return result;
}

}  // namespace kinetograph::intra_kernel
