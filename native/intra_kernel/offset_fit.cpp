#include "intra_kernel/offset_fit.h"

#include <algorithm>
#include <cmath>

namespace kinetograph::intra_kernel {

namespace {

// How far two oscillators drift apart, if nothing is known: the slope that a short session shows is mostly
// noise, and held back by that.
constexpr double usual_drift = 50e-6;
// Beyond any clock's: what does not keep to that are no times.
constexpr double steepest = 1e-3;

// The middle of what a kernel leaves open is about as far from the truth as a quarter of it.
double weight_of(const OffsetBounds& bounds) {
    const double doubt_ns = std::max(50.0, double(bounds.high_ns - bounds.low_ns) / 4);
    return 1 / (doubt_ns * doubt_ns);
}

}  // namespace

OffsetFit::OffsetFit(std::vector<OffsetBounds> bounds) {
    std::erase_if(bounds, [](const OffsetBounds& each) { return !each.is_possible(); });
    if (bounds.empty()) return;
    std::sort(bounds.begin(), bounds.end(),
              [](const OffsetBounds& a, const OffsetBounds& b) { return a.at_ns < b.at_ns; });
    origin_ns_ = bounds.front().at_ns;
    base_ns_ = bounds.front().low_ns;
    find_slope(bounds);
    find_windows(bounds);
    find_error();
}

OffsetFit::OffsetFit(int64_t offset_ns, int64_t error_ns) : base_ns_(offset_ns), error_ns_(error_ns) {
    windows_.push_back({0, 0, 0, 0});
}

// Least squares on the middles. Those that leave much open count for little.
void OffsetFit::find_slope(const std::vector<OffsetBounds>& bounds) {
    double weights = 0, x_mean = 0, y_mean = 0;
    const auto x_of = [&](const OffsetBounds& each) { return double(each.at_ns - origin_ns_); };
    const auto y_of = [&](const OffsetBounds& each) {
        return (double(each.low_ns - base_ns_) + double(each.high_ns - base_ns_)) / 2;
    };
    for (const OffsetBounds& each : bounds) {
        weights += weight_of(each);
        x_mean += weight_of(each) * x_of(each);
        y_mean += weight_of(each) * y_of(each);
    }
    x_mean /= weights;
    y_mean /= weights;
    double xx = 1 / (usual_drift * usual_drift), xy = 0;
    for (const OffsetBounds& each : bounds) {
        const double x = x_of(each) - x_mean;
        xx += weight_of(each) * x * x;
        xy += weight_of(each) * x * (y_of(each) - y_mean);
    }
    slope_ = std::clamp(xy / xx, -steepest, steepest);
    slope_doubt_ = 1 / std::sqrt(xx);
}

// False where nothing would be left; then it stays as it was.
bool OffsetFit::narrow(Window& window, const OffsetBounds& bounds) const {
    const double low = std::max(window.low, double(bounds.low_ns - base_ns_) - line(bounds.at_ns));
    const double high = std::min(window.high, double(bounds.high_ns - base_ns_) - line(bounds.at_ns));
    if (low > high) return false;
    window.low = low;
    window.high = high;
    return true;
}

void OffsetFit::find_windows(const std::vector<OffsetBounds>& bounds) {
    for (size_t begin = 0; begin < bounds.size();) {
        Window window{bounds[begin].at_ns, bounds[begin].at_ns, -HUGE_VAL, HUGE_VAL};
        size_t end = begin;
        while (end < bounds.size() && narrow(window, bounds[end])) window.end_ns = bounds[end++].at_ns;
        // What came just before bounds it as well, as far as it does not contradict.
        for (size_t i = begin; i > 0 && narrow(window, bounds[i - 1]);) --i;
        windows_.push_back(window);
        begin = end;
    }
}

void OffsetFit::find_error() {
    double error = 0;
    for (size_t i = 0; i < windows_.size(); ++i) {
        double step = i > 0 ? std::abs(windows_[i].middle() - windows_[i - 1].middle()) : 0;
        if (i + 1 < windows_.size())
            step = std::max(step, std::abs(windows_[i + 1].middle() - windows_[i].middle()));
        const double length = double(windows_[i].end_ns - windows_[i].begin_ns);
        error = std::max(error, (windows_[i].high - windows_[i].low + step + slope_doubt_ * length) / 2);
    }
    error_ns_ = int64_t(std::ceil(std::min(error, 1e18)));
}

// The last that has begun by then, or the first.
const OffsetFit::Window& OffsetFit::window_at(int64_t at_ns) const {
    auto next = std::upper_bound(windows_.begin(), windows_.end(), at_ns,
                                 [](int64_t at, const Window& window) { return at < window.begin_ns; });
    if (next != windows_.begin()) --next;
    return *next;
}

int64_t OffsetFit::offset_ns(int64_t at_ns) const {
    if (windows_.empty()) return 0;
    return base_ns_ + std::llround(window_at(at_ns).middle() + line(at_ns));
}

int64_t OffsetFit::doubt_ns(int64_t at_ns) const {
    if (windows_.empty() || slope_doubt_ == 0) return error_ns_;
    const Window& window = window_at(at_ns);
    const int64_t away_ns = std::max<int64_t>({0, window.begin_ns - at_ns, at_ns - window.end_ns});
    return error_ns_ + int64_t(std::min(slope_doubt_ * double(away_ns), 1e17));
}

}  // namespace kinetograph::intra_kernel
