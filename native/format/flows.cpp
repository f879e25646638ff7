#include "format/flows.h"

#include <algorithm>
#include <string_view>

namespace kinetograph::format {

namespace {

void sort_if_needed(trace::Column<int64_t>& ids) {
    if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
}

}  // namespace

Flows::Flows(const trace::Trace& trace)
    : trace_(trace),
      launch_side_(trace.storage),
      device_side_(trace.storage),
      sequences_(sequence_arrows(trace)) {
    for (const std::string_view category : trace.categories) {
        is_launch_category_.push_back(category.ends_with("_runtime") || category.ends_with("_driver"));
    }
    collect_correlations();
}

void Flows::collect_correlations() {
    if (trace_.correlation.empty()) return;
    trace::each_row(trace_, [this](size_t row) {
        if (trace_.correlation[row] == 0) return;
        if (is_launch(row)) launch_side_.push_back(trace_.correlation[row]);
        if (on_device(row)) device_side_.push_back(trace_.correlation[row]);
    });
    sort_if_needed(launch_side_);
    sort_if_needed(device_side_);
}

bool Flows::is_launch(size_t row) const {
    return is_launch_category_[trace_.category[row]] && !on_device(row);
}

bool Flows::on_device(size_t row) const {
    return trace_.tracks[trace_.track[row]].device_type != 0;
}

bool Flows::in(const trace::Column<int64_t>& correlations, size_t row) const {
    if (correlations.empty()) return false;
    return std::binary_search(correlations.begin(), correlations.end(), trace_.correlation[row]);
}

}  // namespace kinetograph::format
