// Who encloses whom, and what is left of a span when its children are taken out.
#include <algorithm>

#include "trace/trace.h"

namespace kinetograph::trace {

namespace {

// The spans of one track that are open at the row being looked at, outermost first.
class OpenSpans {
public:
    explicit OpenSpans(const Trace& trace) : trace_(trace) {}

    void enter_track() { rows_.clear(); }
    // A span that ends inside this one crosses it. It is no parent of it, nor of anything that follows: what
    // starts later and fits into the crossed span fits into this one as well. So it can go for good.
    void close_before(size_t row) {
        const int64_t start = trace_.start_ns[row], end = trace_.end_ns(row);
        while (!rows_.empty() && (is_over_at(start) || ends_.back() < end)) pop();
    }
    void open(size_t row) {
        rows_.push_back(static_cast<int32_t>(row));
        ends_.push_back(trace_.end_ns(row));
        covered_until_.push_back(trace_.start_ns[row]);
    }
    // How much of the innermost span this child covers and no child before it did: children that cross must
    // not be taken out twice.
    int64_t cover(size_t row) {
        int64_t& covered_until = covered_until_.back();
        const int64_t from = std::max(trace_.start_ns[row], covered_until), end = trace_.end_ns(row);
        covered_until = std::max(covered_until, end);
        return std::max<int64_t>(end - from, 0);
    }
    int32_t innermost() const { return rows_.empty() ? -1 : rows_.back(); }
    size_t depth() const { return rows_.size(); }

private:
    // One that is unfinished was still open when what begins at its end began: clocks are coarse.
    bool is_over_at(int64_t start) const {
        const bool is_unfinished = trace_.flags[size_t(rows_.back())] & event_unfinished;
        return is_unfinished ? ends_.back() < start : ends_.back() <= start;
    }
    void pop() {
        rows_.pop_back();
        ends_.pop_back();
        covered_until_.pop_back();
    }
    const Trace& trace_;
    std::vector<int32_t> rows_;
    std::vector<int64_t> ends_, covered_until_;
};

}  // namespace

Nesting nest(const Trace& trace) {
    Nesting nesting{Column<int32_t>(trace.storage), Column<int64_t>(trace.storage),
                    Column<uint16_t>(trace.storage)};
    nesting.parent.resize(trace.size());
    nesting.self_ns.resize(trace.size());
    nesting.depth.resize(trace.size());
    OpenSpans open(trace);
    each_row(trace, [&](size_t row) {
        if (row > 0 && trace.track[row] != trace.track[row - 1]) open.enter_track();
        const bool is_span = trace.is_span(row);
        if (is_span && trace.is_async(row)) {
            nesting.parent[row] = -1;
            return;
        }
        open.close_before(row);
        const int32_t parent = open.innermost();
        nesting.parent[row] = parent;
        nesting.depth[row] = static_cast<uint16_t>(std::min<size_t>(open.depth(), UINT16_MAX));
        if (!is_span) return;
        nesting.self_ns[row] = trace.duration_ns[row];
        if (parent >= 0) nesting.self_ns[parent] -= open.cover(row);
        open.open(row);
    });
    return nesting;
}

}  // namespace kinetograph::trace
