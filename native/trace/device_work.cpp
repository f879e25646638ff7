#include "trace/device_work.h"

#include <algorithm>
#include <vector>

namespace kinetograph::trace {

namespace {

struct Launch {
    int64_t correlation;
    int32_t row;
    bool operator<(const Launch& other) const { return correlation < other.correlation; }
};

bool has_devices(const Trace& trace) {
    return std::any_of(trace.tracks.begin(), trace.tracks.end(),
                       [](const Track& track) { return track.device_type != 0; });
}

class Launches {
public:
    Launches(const Trace& trace, const Nesting& nesting) : trace_(trace), nesting_(nesting) {
        for (const std::string_view category : trace.categories) {
            is_launch_.push_back(category.ends_with("_runtime") || category.ends_with("_driver"));
        }
        collect();
    }

    int32_t launcher_of(size_t work) const {
        if (!trace_.link.empty() && trace_.link[work] >= 0) return host_row(trace_.link[work]);
        if (trace_.correlation.empty() || trace_.correlation[work] == 0) return -1;
        const Launch wanted{trace_.correlation[work], 0};
        const auto found = std::lower_bound(launches_.begin(), launches_.end(), wanted);
        if (found == launches_.end() || found->correlation != wanted.correlation) return -1;
        return around(found->row);
    }

private:
    void collect() {
        if (trace_.correlation.empty()) return;
        each_row(trace_, [this](size_t row) {
            if (trace_.correlation[row] == 0 || !is_launch_[trace_.category[row]] || trace_.on_device(row))
                return;
            launches_.push_back({trace_.correlation[row], static_cast<int32_t>(row)});
        });
        if (!std::is_sorted(launches_.begin(), launches_.end()))
            std::stable_sort(launches_.begin(), launches_.end());
    }
    int32_t host_row(int32_t row) const { return trace_.on_device(row) ? -1 : row; }
    // The event around a launch; the launch itself when it stands alone.
    int32_t around(int32_t launch) const {
        if (!trace_.link.empty() && trace_.link[launch] >= 0) return host_row(trace_.link[launch]);
        int32_t row = nesting_.parent[launch];
        while (row >= 0 && is_launch_[trace_.category[row]]) row = nesting_.parent[row];
        return row >= 0 ? row : launch;
    }

    const Trace& trace_;
    const Nesting& nesting_;
    std::vector<bool> is_launch_;
    std::vector<Launch> launches_;  // by correlation id
};

void count_device_row(const Trace& trace, const Launches& launches, DeviceWork& work, size_t row) {
    const int64_t duration = trace.duration_ns[row];
    work.self_ns[row] = work.total_ns[row] = duration;
    if (!is_device_work(trace.category[row])) return;
    const int32_t launcher = launches.launcher_of(row);
    work.launcher[row] = launcher;
    if (launcher >= 0) work.self_ns[launcher] += duration;
}

}  // namespace

bool is_device_work(uint8_t category) {
    switch (static_cast<Category>(category)) {
        case Category::gpu_user_annotation:
        case Category::cuda_sync:
        case Category::cuda_event:
        case Category::cuda_profiler_range:
        case Category::xpu_sync:
        case Category::xpu_scope_profiler:
        case Category::intra_kernel:
            return false;
        default:
            return true;
    }
}

Column<int64_t> with_children(const Nesting& nesting, const Column<int64_t>& self) {
    Column<int64_t> total = self.clone();
    // Parents stand before their children, so that from behind every row is complete when it is reached.
    for (size_t row = total.size(); row-- > 0;) {
        if (nesting.parent[row] >= 0) total[nesting.parent[row]] += total[row];
    }
    return total;
}

DeviceWork attribute_device_work(const Trace& trace, const Nesting& nesting) {
    DeviceWork work{Column<int32_t>(trace.storage), Column<int64_t>(trace.storage),
                    Column<int64_t>(trace.storage)};
    if (!has_devices(trace)) return work;
    const Launches launches(trace, nesting);
    work.launcher.resize(trace.size());
    work.self_ns.resize(trace.size());
    work.total_ns.resize(trace.size());
    std::fill(work.launcher.begin(), work.launcher.end(), -1);
    each_row(trace, [&](size_t row) {
        if (trace.is_span(row) && trace.on_device(row)) count_device_row(trace, launches, work, row);
    });
    Column<int64_t> total = with_children(nesting, work.self_ns);
    // On a device spans lie in one another, but their times are not launched by one another.
    each_row(trace, [&](size_t row) {
        if (!trace.on_device(row)) work.total_ns[row] = total[row];
    });
    return work;
}

}  // namespace kinetograph::trace
