#include "intra_kernel/launch_tracker.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace kinetograph::intra_kernel {

namespace {

// Of times of kernels that were converted well.
constexpr int64_t jitter_ns = 150;
// Within a crowd clocks do not drift apart to speak of.
constexpr int64_t crowd_ns = 1'000'000;
constexpr size_t most_in_crowd = 64;
// Pairs of launches and kernels that are looked at to find where to begin.
constexpr size_t most_pairs = 2'000'000;
constexpr size_t fewest_voters = 16;
constexpr size_t most_beginnings = 8;
// With more than that nothing is told any more.
constexpr size_t most_votes = 10'000;

int64_t most_drift_ns(int64_t from_ns, int64_t to_ns) {
    return int64_t(std::abs(double(from_ns) - double(to_ns)) * most_drift);
}

OffsetRange widened(const OffsetRange& range, int64_t by_ns) {
    return {range.low_ns - by_ns, range.high_ns + by_ns};
}

OffsetRange common(const OffsetRange& one, const OffsetRange& other) {
    return {std::max(one.low_ns, other.low_ns), std::min(one.high_ns, other.high_ns)};
}

// The offsets with which the launch lies within the kernel.
OffsetRange offsets_of(const LaunchSpan& launch, const KernelSpan& kernel) {
    return {kernel.start_ns - launch.first_ns, kernel.end_ns - launch.last_ns};
}

// A launch has one vote for an offset, however many kernels suit it there.
void join_overlapping(std::vector<OffsetRange>& ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const OffsetRange& a, const OffsetRange& b) { return a.low_ns < b.low_ns; });
    size_t kept = 0;
    for (const OffsetRange& range : ranges) {
        if (kept > 0 && range.low_ns <= ranges[kept - 1].high_ns)
            ranges[kept - 1].high_ns = std::max(ranges[kept - 1].high_ns, range.high_ns);
        else
            ranges[kept++] = range;
    }
    ranges.resize(kept);
}

// Where more votes overlap than on both sides of it.
struct Peak {
    OffsetRange range;
    size_t votes;
};

template <class Votes>
std::vector<Peak> peaks_of(const Votes& votes_for) {
    struct Edge {
        int64_t at_ns;
        int change;
    };
    std::vector<Edge> edges;
    for (const auto& vote : votes_for) {
        edges.push_back({vote.range.low_ns, 1});
        edges.push_back({vote.range.high_ns, -1});
    }
    std::sort(edges.begin(), edges.end(),
              [](Edge a, Edge b) { return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.change > b.change; });
    std::vector<Peak> peaks;
    size_t votes = 0;
    for (size_t i = 0; i + 1 < edges.size(); ++i) {
        votes += size_t(edges[i].change);
        if (edges[i].change > 0 && edges[i + 1].change < 0)
            peaks.push_back({{edges[i].at_ns, edges[i + 1].at_ns}, votes});
    }
    return peaks;
}

}  // namespace

LaunchTracker::LaunchTracker(std::span<const KernelSpan> kernels, const KernelIndex& index,
                             const std::vector<LaunchSpan>& launches,
                             const std::vector<MeasuredOffset>& measured)
    : kernels_(kernels), index_(index), launches_(launches), measured_(measured) {
    find_rate();
    has_silent_kernels_ = find_silent_kernels();
}

// Of several places to begin, the one is right from where most launches are found. Kernels that follow each
// other evenly differ only at their ends.
std::vector<OffsetBounds> LaunchTracker::track() {
    if (launches_.empty()) return {};
    Places places;
    if (!measured_.empty()) places = most_wanted(first_votes(measured_range())).places;
    const bool is_measured = !places.empty();
    if (!is_measured) places = most_wanted(first_votes(std::nullopt)).places;
    if (places.size() > 1 && places.size() <= most_beginnings && !has_silent_kernels_) {
        std::vector<std::vector<OffsetBounds>> found;
        for (const OffsetRange& place : places) found.push_back(track_from(place));
        std::sort(found.begin(), found.end(),
                  [](const auto& a, const auto& b) { return a.size() > b.size(); });
        if (found[0].size() > found[1].size()) return std::move(found[0]);
    }
    if (are_close(places)) return track_from({places.front().low_ns, places.back().high_ns});
    const std::optional<OffsetRange> begin = is_measured ? measured_range() : last_kernel();
    return begin ? track_from(*begin) : std::vector<OffsetBounds>();
}

std::vector<OffsetBounds> LaunchTracker::track_from(const OffsetRange& begin) {
    std::vector<OffsetBounds> bounds;
    find_rate();
    begun_.reset();
    known_ = {launches_.back().first_ns, begin};
    for (size_t end = launches_.size(); end > 0;) {
        const size_t first = begin_of_crowd(end);
        follow(first, end, bounds);
        end = first;
    }
    return bounds;
}

// Two calibrations tell how fast the offset moves.
void LaunchTracker::find_rate() {
    rate_ = 0;
    rate_doubt_ = most_drift;
    if (measured_.size() < 2) return;
    const MeasuredOffset &first = measured_.front(), &last = measured_.back();
    const double apart_ns = double(last.at_ns) - double(first.at_ns);
    if (apart_ns <= 0) return;
    const double doubt = (double(first.error_ns) + double(last.error_ns)) / apart_ns + usual_wander;
    const double rate = (double(last.offset_ns) - double(first.offset_ns)) / apart_ns;
    if (doubt > rate_doubt_ || std::abs(rate) > most_drift) return;
    rate_ = rate;
    rate_doubt_ = doubt;
}

// ---- where to begin

// More kernels of a grid than launches, not counting those from before or after all kernels.
bool LaunchTracker::find_silent_kernels() const {
    if (launches_.empty() || kernels_.empty()) return false;
    std::unordered_map<uint64_t, size_t> launches;  // by grid
    const std::optional<OffsetRange> known =
        measured_.empty() ? std::nullopt : std::optional(measured_range());
    const int64_t end_ns = latest_end_ns();
    for (const LaunchSpan& launch : launches_) {
        const OffsetRange range =
            known ? moved(*known, launches_.back().first_ns, launch.first_ns) : OffsetRange{0, 0};
        const bool is_beside = known && (launch.last_ns + range.high_ns < kernels_[0].start_ns ||
                                         launch.first_ns + range.low_ns > end_ns);
        launches[launch.blocks] += !is_beside;
    }
    return std::any_of(launches.begin(), launches.end(),
                       [&](const auto& grid) { return index_.count(grid.first) > grid.second; });
}

int64_t LaunchTracker::latest_end_ns() const {
    int64_t latest_ns = kernels_[0].end_ns;
    for (const KernelSpan& kernel : kernels_) latest_ns = std::max(latest_ns, kernel.end_ns);
    return latest_ns;
}

// Where most votes overlap: one place, or several that are as good. Beside a calibration, not a sliver with
// fewer of them: that is what launches leave between two places which belong half to one and half to the
// other.
LaunchTracker::Wanted LaunchTracker::most_wanted(const Votes& votes) const {
    const std::vector<Peak> peaks = peaks_of(votes);
    size_t most = 0;
    for (const Peak& peak : peaks) most = std::max(most, peak.votes);
    Wanted wanted{{}, has_silent_kernels_ ? most / 10 : 0};
    Places& places = wanted.places;
    for (const Peak& peak : peaks) {
        if (peak.votes + wanted.tolerance < most) continue;
        if (!measured_.empty() && peak.votes < most && peak.range.half_ns() < jitter_ns) continue;
        if (places.empty() || peak.range.low_ns - places.back().high_ns >= 2 * jitter_ns)
            places.push_back(peak.range);
        else
            places.back().high_ns = peak.range.high_ns;
    }
    return wanted;
}

// So that times that were converted badly may have made several of one.
bool LaunchTracker::are_close(const Places& places) {
    for (size_t i = 1; i < places.size(); ++i)
        if (places[i].low_ns - places[i - 1].high_ns >= 2 * usual_noise_ns) return false;
    return !places.empty();
}

// What the nearest calibration leaves open at the last launch.
OffsetRange LaunchTracker::measured_range() const {
    const int64_t at_ns = launches_.back().first_ns;
    const auto away_ns = [&](const MeasuredOffset& each) {
        return std::abs(double(each.at_ns) - double(at_ns));
    };
    const MeasuredOffset& nearest = *std::min_element(
        measured_.begin(), measured_.end(),
        [&](const MeasuredOffset& a, const MeasuredOffset& b) { return away_ns(a) < away_ns(b); });
    const OffsetRange range{nearest.offset_ns - nearest.error_ns, nearest.offset_ns + nearest.error_ns};
    return widened(moved(range, nearest.at_ns, at_ns), usual_noise_ns);
}

// The last launches are asked, for clocks drift.
LaunchTracker::Votes LaunchTracker::first_votes(const std::optional<OffsetRange>& within) const {
    Votes votes;
    size_t voters = 0, pairs = 0;
    for (size_t i = launches_.size(); i-- > 0;) {
        const LaunchSpan& launch = launches_[i];
        pairs += index_.count(launch.blocks);
        if (++voters > fewest_voters && pairs > most_pairs) break;
        const int64_t doubt_ns = most_drift_ns(launch.first_ns, launches_.back().first_ns);
        if (doubt_ns > 10 * usual_noise_ns && voters > fewest_voters) break;
        std::vector<OffsetRange> ranges;
        index_.each(launch.blocks, [&](uint32_t number) {
            OffsetRange range = offsets_of(launch, kernels_[number]);
            if (!range.is_possible()) return;
            range = widened(range, doubt_ns);
            if (within) range = common(range, *within);
            if (range.is_possible()) ranges.push_back(range);
        });
        join_overlapping(ranges);
        for (const OffsetRange& range : ranges) votes.push_back({range, i});
    }
    return votes;
}

// Launches that follow one another as evenly as kernels do could be any of them.
std::optional<OffsetRange> LaunchTracker::last_kernel() {
    const LaunchSpan& launch = launches_.back();
    std::optional<OffsetRange> found;
    index_.each(launch.blocks, [&](uint32_t number) {
        const OffsetRange range = offsets_of(launch, kernels_[number]);
        if (range.is_possible() && (!found || range.low_ns > found->low_ns)) found = range;
    });
    is_guessed_ = found.has_value();
    return found;
}

// ---- crowd by crowd

size_t LaunchTracker::begin_of_crowd(size_t end) const {
    const int64_t last_ns = launches_[end - 1].first_ns;
    size_t first = end - 1;
    while (first > 0 && end - first < most_in_crowd && last_ns - launches_[first - 1].first_ns <= crowd_ns)
        --first;
    return first;
}

// Only where no kernel suits it may be that their times were converted badly: neighbours may be closer.
void LaunchTracker::follow(size_t first, size_t end, std::vector<OffsetBounds>& bounds) {
    const int64_t at_ns = launches_[end - 1].first_ns;
    const OffsetRange within = expected(at_ns);
    std::optional<Votes> votes = votes_of(first, end, within);
    if (votes && votes->empty()) votes = votes_of(first, end, widened(within, usual_noise_ns));
    const std::optional<OffsetRange> wanted = votes ? choose(most_wanted(*votes), *votes) : std::nullopt;
    if (!wanted) return;
    bool found_any = false;
    for (size_t i = end; i-- > first;) {
        const std::optional<OffsetRange> found = kernel_of(launches_[i], *wanted, at_ns);
        if (!found) continue;
        bounds.push_back({launches_[i].first_ns, found->low_ns, found->high_ns});
        found_any = true;
    }
    if (found_any) learn({at_ns, *wanted});
}

// Where several places are as good, those launches decide that suit only one of them, if they all agree.
// Beside kernels that record nothing, some may do so because their own were lost.
std::optional<OffsetRange> LaunchTracker::choose(const Wanted& wanted, const Votes& votes) const {
    const Places& places = wanted.places;
    if (places.size() <= 1) return places.empty() ? std::nullopt : std::optional(places[0]);
    if (places.size() > most_beginnings) return std::nullopt;
    std::unordered_map<size_t, std::vector<size_t>> suits;  // launches to places
    for (const Vote& vote : votes)
        for (size_t i = 0; i < places.size(); ++i)
            if (common(vote.range, places[i]).is_possible()) suits[vote.launch].push_back(i);
    std::optional<size_t> chosen;
    size_t deciders = 0;
    for (const auto& [launch, suited] : suits) {
        if (suited.size() != 1) continue;
        if (chosen && *chosen != suited[0]) return std::nullopt;
        chosen = suited[0];
        ++deciders;
    }
    const size_t lost = has_silent_kernels_ ? std::max<size_t>(1, wanted.tolerance / 2) : 0;
    return deciders > lost ? std::optional(places[*chosen]) : std::nullopt;
}

// Nothing where there are too many.
std::optional<LaunchTracker::Votes> LaunchTracker::votes_of(size_t first, size_t end,
                                                            const OffsetRange& within) const {
    const int64_t at_ns = launches_[end - 1].first_ns;
    Votes votes;
    for (size_t i = first; i < end; ++i) {
        const LaunchSpan& launch = launches_[i];
        const OffsetRange here = moved(within, at_ns, launch.first_ns);
        std::vector<OffsetRange> ranges;
        index_.around(launch.blocks, launch.first_ns + here.high_ns, launch.last_ns + here.low_ns,
                      [&](uint32_t number) {
                          const OffsetRange range = offsets_of(launch, kernels_[number]);
                          if (!range.is_possible()) return;
                          const OffsetRange vote = common(moved(range, launch.first_ns, at_ns), within);
                          if (vote.is_possible()) ranges.push_back(vote);
                      });
        join_overlapping(ranges);
        for (const OffsetRange& range : ranges) votes.push_back({range, i});
        if (votes.size() > most_votes) return std::nullopt;
    }
    return votes;
}

// What the only kernel says that the launch can belong to, with an offset of its crowd.
std::optional<OffsetRange> LaunchTracker::kernel_of(const LaunchSpan& launch, const OffsetRange& at_crowd,
                                                    int64_t at_ns) const {
    for (const int64_t noise_ns : {int64_t(0), usual_noise_ns}) {
        const OffsetRange here = widened(moved(at_crowd, at_ns, launch.first_ns), noise_ns);
        std::optional<OffsetRange> found;
        int count = 0;
        index_.around(launch.blocks, launch.first_ns + here.high_ns, launch.last_ns + here.low_ns,
                      [&](uint32_t number) {
                          const OffsetRange range = offsets_of(launch, kernels_[number]);
                          if (!range.is_possible()) return;
                          found = range;
                          ++count;
                      });
        if (count > 0) return count == 1 ? found : std::nullopt;
    }
    return std::nullopt;
}

OffsetRange LaunchTracker::expected(int64_t at_ns) const {
    return widened(moved(known_.range, known_.at_ns, at_ns), jitter_ns);
}

// As far as the clocks can have drifted apart.
OffsetRange LaunchTracker::moved(const OffsetRange& range, int64_t from_ns, int64_t to_ns) const {
    const double passed_ns = double(to_ns - from_ns);
    const auto shift_ns = int64_t(rate_ * passed_ns);
    return widened({range.low_ns + shift_ns, range.high_ns + shift_ns},
                   int64_t(rate_doubt_ * std::abs(passed_ns)));
}

// The farther it is from the first crowd that told something, the better it tells the rate, too.
void LaunchTracker::learn(Known known) {
    const OffsetRange narrowed = common(known.range, expected(known.at_ns));
    known_ = {known.at_ns, narrowed.is_possible() ? narrowed : known.range};
    if (!begun_) begun_ = known_;
    const double passed_ns = double(known_.at_ns - begun_->at_ns);
    if (passed_ns == 0) return;
    const double doubt_ns = known_.range.half_ns() + begun_->range.half_ns() + 2 * jitter_ns;
    const double doubt = doubt_ns / std::abs(passed_ns) + usual_wander;
    const double rate = (known_.range.middle_ns() - begun_->range.middle_ns()) / passed_ns;
    if (doubt >= rate_doubt_ || std::abs(rate) > most_drift) return;
    rate_ = rate;
    rate_doubt_ = doubt;
}

}  // namespace kinetograph::intra_kernel
