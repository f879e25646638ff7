#include "trace/device_links.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/device_work.h"
#include "trace/launches.h"

namespace kinetograph::trace {

namespace {

bool is_annotation(const Trace& trace, size_t row) {
    return trace.category[row] == uint8_t(Category::user_annotation) && trace.is_span(row);
}

// What has a number in Kineto's files that other events can point to.
bool can_be_linked_to(const Trace& trace, size_t row) {
    return is_annotation(trace, row) ||
           (trace.category[row] == uint8_t(Category::cpu_op) && trace.is_span(row));
}

int32_t owner_of(const Trace& trace, const Nesting& nesting, int32_t launch) {
    int32_t row = nesting.parent[launch];
    while (row >= 0 && !can_be_linked_to(trace, size_t(row))) row = nesting.parent[row];
    return row;
}

bool is_launched_work(const Trace& trace, size_t row) {
    return trace.on_device(row) && trace.is_span(row) && trace.correlation[row] != 0;
}

struct Stretch {
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
};

// By the scope and the track of its work.
using Stretches = std::map<std::pair<int32_t, uint32_t>, Stretch>;

Stretches find_stretches(const Trace& trace) {
    const Nesting nesting = nest(trace);
    const Launches launches(trace);
    Stretches stretches;
    each_row(trace, [&](size_t row) {
        if (!is_launched_work(trace, row) || !is_device_work(trace.category[row])) return;
        for (int32_t around = launches.find(trace.correlation[row]); around >= 0;
             around = nesting.parent[around]) {
            if (!is_annotation(trace, size_t(around))) continue;
            Stretch& stretch = stretches[{around, trace.track[row]}];
            stretch.start_ns = std::min(stretch.start_ns, trace.start_ns[row]);
            stretch.end_ns = std::max(stretch.end_ns, trace.end_ns(row));
        }
    });
    return stretches;
}

void add_annotation(Trace& trace, int32_t scope, uint32_t track, const Stretch& stretch) {
    trace.start_ns.push_back(stretch.start_ns - 1);
    trace.duration_ns.push_back(stretch.end_ns - stretch.start_ns + 2);
    trace.name.push_back(uint32_t(trace.name[scope]));
    trace.track.push_back(track);
    trace.category.push_back(uint8_t(Category::gpu_user_annotation));
    trace.kind.push_back(uint8_t(EventKind::span));
    trace.scope.push_back(0);
    trace.flags.push_back(0);
    trace.link.push_back(scope);
    trace.correlation.push_back(0);
    if (!trace.sequence.empty()) trace.sequence.push_back(-1);
    if (!trace.record_function.empty()) trace.record_function.push_back(0);
    if (!trace.args.empty()) trace.args.push_back({});
}

}  // namespace

void link_device_work(Trace& trace) {
    if (trace.correlation.empty()) return;
    const Nesting nesting = nest(trace);
    const Launches launches(trace);
    trace.fill(trace.link, -1);
    launches.for_each([&](int32_t row) { trace.link[row] = owner_of(trace, nesting, row); });
    each_row(trace, [&](size_t row) {
        if (!is_launched_work(trace, row)) return;
        const int32_t launch = launches.find(trace.correlation[row]);
        if (launch >= 0) trace.link[row] = trace.link[launch];
    });
}

void add_gpu_annotations(Trace& trace) {
    if (trace.correlation.empty()) return;
    const Stretches stretches = find_stretches(trace);
    if (stretches.empty()) return;
    trace.fill(trace.link, -1);
    for (const auto& [place, stretch] : stretches) add_annotation(trace, place.first, place.second, stretch);
    sort_events(trace);
}

}  // namespace kinetograph::trace
