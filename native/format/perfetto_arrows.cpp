#include "format/perfetto_arrows.h"

#include <algorithm>
#include <tuple>

namespace kinetograph::format::perfetto {

namespace {

struct Launch {
    int64_t correlation;
    int64_t start_ns;
    uint32_t row;
    bool operator<(const Launch& other) const {
        return std::tie(correlation, start_ns, row) < std::tie(other.correlation, other.start_ns, other.row);
    }
};

void sort_by_row(std::vector<FlowEnd>& ends) {
    std::stable_sort(ends.begin(), ends.end(), [](FlowEnd a, FlowEnd b) { return a.row < b.row; });
}

}  // namespace

Arrows::Arrows(const trace::Trace& trace) : trace_(trace) {
    const Flows flows(trace);
    add_device_work(flows);
    add_backward(flows);
    sort_by_row(sources_);
    sort_by_row(targets_);
}

// An arrow never leads back in time: readers of JSON drop such ones, and Perfetto would turn them round.
void Arrows::add(uint32_t source, uint32_t target) {
    const int64_t from = trace_.start_ns[source], to = trace_.start_ns[target];
    if (to < from || (to == from && target < source)) return;
    const auto id = static_cast<uint32_t>(sources_.size() + 1);
    sources_.push_back({source, id});
    targets_.push_back({target, id});
}

// Where several launches share an id, such as a runtime call and the driver call within, the last one before
// the work is meant.
void Arrows::add_device_work(const Flows& flows) {
    if (trace_.correlation.empty()) return;
    trace::Column<Launch> launches(trace_.storage);
    const auto end_at = [this](size_t row) {
        return Launch{trace_.correlation[row], trace_.start_ns[row], static_cast<uint32_t>(row)};
    };
    trace::each_row(trace_, [&](size_t row) {
        if (trace_.correlation[row] != 0 && flows.starts_device_work(row)) launches.push_back(end_at(row));
    });
    if (!std::is_sorted(launches.begin(), launches.end())) std::sort(launches.begin(), launches.end());
    trace::each_row(trace_, [&](size_t row) {
        if (trace_.correlation[row] == 0 || !flows.is_device_work(row)) return;
        const Launch* after = std::upper_bound(launches.begin(), launches.end(), end_at(row));
        if (after != launches.begin() && after[-1].correlation == trace_.correlation[row]) {
            add(after[-1].row, static_cast<uint32_t>(row));
        }
    });
}

void Arrows::add_backward(const Flows& flows) {
    std::vector<uint32_t> forward(flows.forward().size() + 1);
    for (const FlowEnd& end : flows.forward()) forward[end.id] = end.row;
    for (const FlowEnd& end : flows.backward()) add(forward[end.id], end.row);
}

}  // namespace kinetograph::format::perfetto
