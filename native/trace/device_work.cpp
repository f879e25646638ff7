#include "trace/device_work.h"

#include <algorithm>
#include <vector>

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
        const int32_t launch = launch_of(work);
        if (launch < 0) return host_row(link_of(work));
        const int32_t linked = link_of(work) >= 0 ? link_of(work) : link_of(size_t(launch));
        const int32_t nearest = around(launch);
        // A link tells only of operators and scopes: Python functions in them are nearer.
        return linked < 0 || is_within(nearest, linked) ? nearest : host_row(linked);
    }

private:
    int32_t link_of(size_t row) const { return trace_.link.empty() ? -1 : trace_.link[row]; }
    int32_t launch_of(size_t work) const {
        const bool is_tied = !trace_.correlation.empty() && trace_.correlation[work] != 0;
        return is_tied ? launches_.find(trace_.correlation[work]) : -1;
    }
    int32_t host_row(int32_t row) const { return row < 0 || trace_.on_device(size_t(row)) ? -1 : row; }
    // The event around a launch; the launch itself when it stands alone.
    int32_t around(int32_t launch) const {
        int32_t row = nesting_.parent[launch];
        while (row >= 0 && launches_.is_launch(size_t(row))) row = nesting_.parent[row];
        return row >= 0 ? row : launch;
    }
    bool is_within(int32_t row, int32_t outer) const {
        while (row >= 0 && row != outer) row = nesting_.parent[row];
        return row == outer;
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

// Scopes timed by events: spans on tracks that hold nothing of the work itself.
class TimedScopes {
public:
    TimedScopes(const Trace& trace, const Nesting& nesting)
        : trace_(trace), nesting_(nesting), has_work_(trace.tracks.size()) {}

    void see(size_t row) {
        if (is_device_work(trace_.category[row])) has_work_[trace_.track[row]] = true;
        if (trace_.category[row] == uint8_t(Category::gpu_user_annotation)) annotations_.push_back({row, -1});
    }

    // Each counts for its scope, less the scopes in that which were timed themselves.
    void count(const Launchers& launchers, DeviceWork& work) {
        std::erase_if(annotations_, [&](Annotation& annotation) {
            const bool is_timed = !has_work_[trace_.track[annotation.row]];
            annotation.scope = is_timed ? launchers.launcher_of(annotation.row) : -1;
            return annotation.scope < 0;
        });
        if (annotations_.empty()) return;
        std::vector<bool> is_timed(trace_.size());
        for (const Annotation& annotation : annotations_) is_timed[size_t(annotation.scope)] = true;
        for (const Annotation& annotation : annotations_)
            count_one(work, is_timed, annotation.scope, trace_.duration_ns[annotation.row]);
    }

private:
    struct Annotation {
        size_t row;
        int32_t scope;
    };

    void count_one(DeviceWork& work, const std::vector<bool>& is_timed, int32_t scope, int64_t ns) const {
        work.self_ns[scope] += ns;
        int32_t around = nesting_.parent[scope];
        while (around >= 0 && !is_timed[size_t(around)]) around = nesting_.parent[around];
        if (around >= 0) work.self_ns[around] -= ns;
    }

    const Trace& trace_;
    const Nesting& nesting_;
    std::vector<bool> has_work_;  // of tracks
    std::vector<Annotation> annotations_;
};

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
    TimedScopes timed(trace, nesting);
    each_row(trace, [&](size_t row) {
        if (!trace.is_span(row) || !trace.on_device(row)) return;
        count_device_row(trace, launchers, work, row);
        timed.see(row);
    });
    timed.count(launchers, work);
    Column<int64_t> total = with_children(nesting, work.self_ns);
    // On a device spans lie in one another, but their times are not launched by one another.
    each_row(trace, [&](size_t row) {
        if (!trace.on_device(row)) work.total_ns[row] = total[row];
        // Scopes in one another may have been timed on streams that run side by side.
        work.self_ns[row] = std::max<int64_t>(work.self_ns[row], 0);
    });
    return work;
}

}  // namespace kinetograph::trace
