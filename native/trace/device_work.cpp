#include "trace/device_work.h"

#include <algorithm>

#include "trace/launches.h"

namespace kinetograph::trace {

namespace {

bool has_devices(const Trace& trace) {
    return std::any_of(trace.tracks.begin(), trace.tracks.end(),
                       [](const Track& track) { return track.device_type != 0; });
}

class Launchers {
public:
    Launchers(const Trace& trace, const Nesting& nesting)
        : trace_(trace), nesting_(nesting), launches_(trace) {}

    int32_t launcher_of(size_t work) const {
        if (!trace_.link.empty() && trace_.link[work] >= 0) return host_row(trace_.link[work]);
        if (trace_.correlation.empty() || trace_.correlation[work] == 0) return -1;
        const int32_t launch = launches_.find(trace_.correlation[work]);
        return launch < 0 ? -1 : around(launch);
    }

private:
    int32_t host_row(int32_t row) const { return trace_.on_device(row) ? -1 : row; }
    // The event around a launch; the launch itself when it stands alone.
    int32_t around(int32_t launch) const {
        if (!trace_.link.empty() && trace_.link[launch] >= 0) return host_row(trace_.link[launch]);
        int32_t row = nesting_.parent[launch];
        while (row >= 0 && launches_.is_launch(row)) row = nesting_.parent[row];
        return row >= 0 ? row : launch;
    }

    const Trace& trace_;
    const Nesting& nesting_;
    const Launches launches_;
};

void count_device_row(const Trace& trace, const Launchers& launchers, DeviceWork& work, size_t row) {
    const int64_t duration = trace.duration_ns[row];
    work.self_ns[row] = work.total_ns[row] = duration;
    if (!is_device_work(trace.category[row])) return;
    const int32_t launcher = launchers.launcher_of(row);
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
    const Launchers launchers(trace, nesting);
    work.launcher.resize(trace.size());
    work.self_ns.resize(trace.size());
    work.total_ns.resize(trace.size());
    std::fill(work.launcher.begin(), work.launcher.end(), -1);
    each_row(trace, [&](size_t row) {
        if (trace.is_span(row) && trace.on_device(row)) count_device_row(trace, launchers, work, row);
    });
    Column<int64_t> total = with_children(nesting, work.self_ns);
    // On a device spans lie in one another, but their times are not launched by one another.
    each_row(trace, [&](size_t row) {
        if (!trace.on_device(row)) work.total_ns[row] = total[row];
    });
    return work;
}

}  // namespace kinetograph::trace
