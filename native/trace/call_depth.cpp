#include "trace/call_depth.h"

#include <algorithm>

namespace kinetograph::trace {

namespace {

// The calls of one track around the row being looked at that count.
class Counted {
public:
    explicit Counted(const DepthLimit& limit) : limit_(limit) {}

    void enter_track() { ends_.clear(); }
    bool wants(int64_t start_ns, int64_t end_ns) {
        while (!ends_.empty() && (ends_.back() <= start_ns || ends_.back() < end_ns)) ends_.pop_back();
        if (std::binary_search(limit_.begins.begin(), limit_.begins.end(), start_ns)) return true;
        if (ends_.size() >= limit_.max_depth) return false;
        ends_.push_back(end_ns);
        return true;
    }

private:
    const DepthLimit& limit_;
    std::vector<int64_t> ends_;
};

// Columns give out zeros when they grow again, so none must stay behind the end.
template <class T>
void cut(Column<T>& column, size_t rows) {
    if (column.empty()) return;
    std::fill(column.begin() + rows, column.end(), T{});
    column.resize(rows);
}

template <class T>
void move_row(Column<T>& column, size_t to, size_t from) {
    if (!column.empty()) column[to] = column[from];
}

template <class Visit>
void for_each_column(Trace& trace, Visit&& visit) {
    visit(trace.start_ns);
    visit(trace.duration_ns);
    visit(trace.name);
    visit(trace.track);
    visit(trace.category);
    visit(trace.kind);
    visit(trace.scope);
    visit(trace.flags);
    visit(trace.correlation);
    visit(trace.sequence);
    visit(trace.record_function);
    visit(trace.args);
}

bool is_call(const Trace& trace, size_t row) {
    return trace.category[row] == uint8_t(Category::python_function) && trace.is_span(row);
}

}  // namespace

DepthLimit depth_limit(uint32_t max_depth, const record::Recording& recording) {
    DepthLimit limit{max_depth, {recording.clock.to_wall_ns(recording.window.begin)}};
    if (max_depth == UINT32_MAX) return limit;
    for (const record::ThreadRecording& thread : recording.threads)
        for (const record::Window& window : thread.windows)
            limit.begins.push_back(recording.clock.to_wall_ns(window.begin));
    std::sort(limit.begins.begin(), limit.begins.end());
    return limit;
}

void limit_call_depth(Trace& trace, const DepthLimit& limit) {
    if (limit.max_depth == UINT32_MAX) return;
    Counted counted(limit);
    size_t kept = 0;
    uint32_t track = UINT32_MAX;
    each_row(trace, [&](size_t row) {
        if (trace.track[row] != track) counted.enter_track();
        track = trace.track[row];
        if (is_call(trace, row) && !counted.wants(trace.start_ns[row], trace.end_ns(row))) return;
        if (kept != row) for_each_column(trace, [&](auto& column) { move_row(column, kept, row); });
        ++kept;
    });
    for_each_column(trace, [&](auto& column) { cut(column, kept); });
}

}  // namespace kinetograph::trace
