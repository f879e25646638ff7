#include "trace/graph_launches.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "trace/event_args.h"

namespace kinetograph::trace {

namespace {

constexpr std::string_view shared_keys[] = {"device", "context", "stream", "graph id"};

// What all nodes share, of the arguments of one.
std::string members_of(std::string_view node, uint32_t nodes) {
    std::string text;
    for (const std::string_view key : shared_keys)
        text.append("\"").append(key).append("\":").append(std::to_string(integer_argument(node, key))) +=
            ',';
    return text + "\"graph nodes\":" + std::to_string(nodes);
}

}  // namespace

void GraphLaunches::see(const record::Record& record, const record::DeviceWork& work) {
    const auto [known, is_new] = by_correlation_.try_emplace(record.correlation, launches_.size());
    if (is_new) launches_.push_back({record.start, record.last_tick(), record.correlation, 0, work});
    Launch& launch = launches_[known->second];
    ++launch.nodes;
    launch.end = std::max(launch.end, record.last_tick());
    if (record.start >= launch.start) return;
    launch.start = record.start;
    launch.first = work;
}

void GraphLaunches::write() {
    Trace& trace = rows_.trace();
    for (const Launch& launch : launches_) {
        const size_t row = rows_.add_row();
        rows_.write_row(row, device_rows_.track(launch.first.place), {launch.start, launch.end, 0},
                        trace.strings.intern("CUDA Graph"));
        trace.category[row] = uint8_t(Category::kernel);
        rows_.write_members(row, launch.first.members);
        rows_.write_args(row, members_of(trace.args_of(row), launch.nodes));
        rows_.write_correlation(row, launch.correlation);
    }
}

}  // namespace kinetograph::trace
