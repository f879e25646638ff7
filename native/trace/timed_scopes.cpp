#include "trace/timed_scopes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kinetograph::trace {

namespace {

struct Begin {
    int64_t start_ns;
    size_t row;
    bool operator<(const Begin& other) const { return start_ns < other.start_ns; }
};

// Of one thread, with all its lanes, and one name.
struct Group {
    std::vector<Begin> annotations;  // by the moment before their scopes
    std::vector<Begin> scopes;
};
using Groups = std::map<std::pair<int32_t, uint32_t>, Group>;

bool is_timed(const Trace& trace, size_t row) {
    return trace.category[row] == uint8_t(Category::gpu_user_annotation) && trace.correlation[row] < 0;
}

bool is_scope(const Trace& trace, size_t row) {
    const uint8_t category = trace.category[row];
    return trace.is_span(row) && !trace.on_device(row) &&
           (category == uint8_t(Category::user_annotation) || category == uint8_t(Category::cpu_op));
}

Groups find_annotations(Trace& trace, const std::vector<TimedScope>& scopes,
                        const std::function<int32_t(int32_t)>& track_of) {
    Groups groups;
    each_row(trace, [&](size_t row) {
        if (!is_timed(trace, row)) return;
        const TimedScope& scope = scopes[size_t(-trace.correlation[row]) - 1];
        trace.correlation[row] = 0;
        const int32_t track = track_of(scope.tid);
        if (track >= 0) groups[{track, trace.name[row]}].annotations.push_back({scope.before_ns, row});
    });
    return groups;
}

void find_scopes(const Trace& trace, Groups& groups) {
    each_row(trace, [&](size_t row) {
        if (!is_scope(trace, row)) return;
        const auto track = int32_t(trace.track[row]);
        const int32_t parent = trace.tracks[trace.track[row]].parent;
        const auto group = groups.find({parent < 0 ? track : parent, trace.name[row]});
        if (group != groups.end()) group->second.scopes.push_back({trace.start_ns[row], row});
    });
}

// The first scope behind the moment, unless another annotation's moment lies in between: then its own is not
// here.
void link(Trace& trace, Group& group) {
    std::stable_sort(group.annotations.begin(), group.annotations.end());
    std::stable_sort(group.scopes.begin(), group.scopes.end());
    for (size_t i = 0; i < group.annotations.size(); ++i) {
        const auto found = std::lower_bound(group.scopes.begin(), group.scopes.end(), group.annotations[i]);
        if (found == group.scopes.end()) return;
        if (i + 1 < group.annotations.size() && group.annotations[i + 1].start_ns <= found->start_ns)
            continue;
        trace.link[group.annotations[i].row] = int32_t(found->row);
    }
}

}  // namespace

void link_timed_scopes(Trace& trace, const std::vector<TimedScope>& scopes,
                       const std::function<int32_t(int32_t)>& track_of) {
    if (scopes.empty()) return;
    Groups groups = find_annotations(trace, scopes, track_of);
    find_scopes(trace, groups);
    trace.fill(trace.link, -1);
    for (auto& [key, group] : groups) link(trace, group);
}

}  // namespace kinetograph::trace
