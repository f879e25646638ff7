// What has to be added to a globaltimer to make it wall time, and how wrong that may be.
//
// A kernel began before its first record and ended after its last: that bounds the offset from both sides.
// Many kernels bound it better, but clocks drift, and those who told the times of kernels converted them,
// too. So a straight line takes the drift away, and what is left is cut into windows within which one offset
// suits every kernel.
#pragma once

#include <cstdint>
#include <vector>

namespace kinetograph::intra_kernel {

// What one kernel says of the offset.
struct OffsetBounds {
    int64_t at_ns = 0;  // globaltimer
    int64_t low_ns = 0, high_ns = 0;
    bool is_possible() const { return low_ns <= high_ns; }
};

class OffsetFit {
public:
    // In any order; those that are impossible are left out.
    explicit OffsetFit(std::vector<OffsetBounds> bounds);
    // One that was measured otherwise; nothing is known of its drift.
    OffsetFit(int64_t offset_ns, int64_t error_ns);

    int64_t offset_ns(int64_t at_ns) const;
    // The largest of all windows: half of what the kernels leave open, half of the step to the next, and what
    // the drift may be wrong by.
    int64_t error_ns() const { return error_ns_; }
    // The same at a time that may be far from all windows, where the drift has its way.
    int64_t doubt_ns(int64_t at_ns) const;
    double drift_ppm() const { return slope_ * 1e6; }

private:
    struct Window {
        int64_t begin_ns, end_ns;  // of its first and last kernel, globaltimer
        double low, high;          // beside the line
        double middle() const { return (low + high) / 2; }
    };
    double line(int64_t at_ns) const { return slope_ * double(at_ns - origin_ns_); }
    void find_slope(const std::vector<OffsetBounds>& bounds);
    void find_windows(const std::vector<OffsetBounds>& bounds);
    bool narrow(Window& window, const OffsetBounds& bounds) const;
    void find_error();
    const Window& window_at(int64_t at_ns) const;

    int64_t origin_ns_ = 0;  // globaltimer
    int64_t base_ns_ = 0;    // offsets count from here: as doubles they would be too coarse
    double slope_ = 0, slope_doubt_ = 0;
    std::vector<Window> windows_;
    int64_t error_ns_ = 0;
};

}  // namespace kinetograph::intra_kernel
