#include "trace/launches.h"

#include <algorithm>
#include <string_view>

namespace kinetograph::trace {

Launches::Launches(const Trace& trace) : trace_(trace) {
    for (const std::string_view category : trace.categories)
        is_launch_category_.push_back(category.ends_with("_runtime") || category.ends_with("_driver"));
    if (trace.correlation.empty()) return;
    each_row(trace, [this](size_t row) {
        if (trace_.correlation[row] == 0 || !is_launch(row) || trace_.on_device(row)) return;
        launches_.push_back({trace_.correlation[row], static_cast<int32_t>(row)});
    });
    if (!std::is_sorted(launches_.begin(), launches_.end()))
        std::stable_sort(launches_.begin(), launches_.end());
}

int32_t Launches::find(int64_t correlation) const {
    const Launch wanted{correlation, 0};
    const auto found = std::lower_bound(launches_.begin(), launches_.end(), wanted);
    return found == launches_.end() || found->correlation != correlation ? -1 : found->row;
}

}  // namespace kinetograph::trace
