#include "format/perfetto_links.h"

#include <algorithm>
#include <unordered_map>

#include "format/json_number.h"
#include "format/kineto_words.h"

namespace kinetograph::format::perfetto {

namespace {

bool is_launch(std::string_view category) {
    return category.ends_with("_runtime") || category.ends_with("_driver");
}

int32_t enclosing_owner(const trace::Trace& trace, const trace::Nesting& nesting, size_t row) {
    int32_t at = nesting.parent[row];
    while (at >= 0 && !owns_external_id(trace.category[at], trace.kind[at])) at = nesting.parent[at];
    return at;
}

// A launch is linked to the operator or annotation that encloses it, device work to what its launch is linked
// to.
trace::Column<int32_t> links_that_follow(const trace::Trace& trace) {
    const trace::Nesting nesting = trace::nest(trace);
    std::unordered_map<int64_t, int32_t> owner_of;  // by correlation
    trace::Column<int32_t> links(trace.storage);
    trace.fill<int32_t>(links, -1);
    const auto on_device = [&](size_t row) { return trace.tracks[trace.track[row]].device_type != 0; };
    trace::each_row(trace, [&](size_t row) {
        if (on_device(row) || !is_launch(trace.categories[trace.category[row]])) return;
        links[row] = enclosing_owner(trace, nesting, row);
        if (!trace.correlation.empty() && trace.correlation[row] != 0) {
            owner_of[trace.correlation[row]] = links[row];
        }
    });
    if (trace.correlation.empty()) return links;
    trace::each_row(trace, [&](size_t row) {
        const auto found = on_device(row) ? owner_of.find(trace.correlation[row]) : owner_of.end();
        if (found != owner_of.end()) links[row] = found->second;
    });
    return links;
}

}  // namespace

std::string odd_links(const trace::Trace& trace) {
    const trace::Column<int32_t> links = links_that_follow(trace);
    std::string odd;
    for (size_t row = 0; row < trace.size(); ++row) {
        if (links[row] == trace.link[row]) continue;
        if (!odd.empty()) odd += ' ';
        odd += std::to_string(row) + ':' + std::to_string(trace.link[row]);
    }
    return odd;
}

void restore_links(trace::Trace& trace, std::string_view odd_links) {
    trace.link = links_that_follow(trace);
    const auto rows = static_cast<int64_t>(trace.size());
    while (!odd_links.empty()) {
        const std::string_view pair = odd_links.substr(0, odd_links.find(' '));
        odd_links.remove_prefix(std::min(pair.size() + 1, odd_links.size()));
        const size_t colon = pair.find(':');
        if (colon == pair.npos) continue;
        const int64_t row = to_int64(pair.substr(0, colon)).value_or(-1);
        const int64_t link = to_int64(pair.substr(colon + 1)).value_or(-1);
        if (row >= 0 && row < rows && link >= -1 && link < rows) trace.link[row] = static_cast<int32_t>(link);
    }
}

}  // namespace kinetograph::format::perfetto
