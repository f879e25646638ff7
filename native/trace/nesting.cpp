// Who encloses whom, and what is left of a span when its children are taken out.
#include <algorithm>

#include "trace/trace.h"

namespace kinetograph::trace {

namespace {

bool is_span(const Trace& trace, size_t row) {
    return trace.kind[row] == uint8_t(EventKind::span);
}

// The spans of one track that are open at the row being looked at, outermost first.
class OpenSpans {
public:
    explicit OpenSpans(const Trace& trace) : trace_(trace) {}

    void enter_track() { rows_.clear(); }
    // A span that ends inside this one crosses it. It is no parent of it, nor of anything that follows: what
    // starts later and fits into the crossed span fits into this one as well. So it can go for good.
    void close_before(size_t row) {
        const int64_t start = trace_.start_ns[row], end = trace_.end_ns(row);
        while (!rows_.empty() && (ends_.back() <= start || ends_.back() < end)) pop();
    }
    void open(size_t row) {
        rows_.push_back(static_cast<int32_t>(row));
        ends_.push_back(trace_.end_ns(row));
    }
    int32_t innermost() const { return rows_.empty() ? -1 : rows_.back(); }
    size_t depth() const { return rows_.size(); }

private:
    void pop() {
        rows_.pop_back();
        ends_.pop_back();
    }
    const Trace& trace_;
    std::vector<int32_t> rows_;
    std::vector<int64_t> ends_;
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
        open.close_before(row);
        const int32_t parent = open.innermost();
        nesting.parent[row] = parent;
        nesting.depth[row] = static_cast<uint16_t>(std::min<size_t>(open.depth(), UINT16_MAX));
        if (!is_span(trace, row)) return;
        nesting.self_ns[row] = trace.duration_ns[row];
        if (parent >= 0) nesting.self_ns[parent] -= trace.duration_ns[row];
        open.open(row);
    });
    return nesting;
}

namespace {

// Finds the group of a (name, category). Most names have one category, so those of a name are a list.
class Groups {
public:
    Groups(NameTotals& totals, size_t names) : totals_(totals), first_(names, -1) {}

    size_t of(uint32_t name, uint8_t category) {
        int32_t* next = &first_[name];
        while (*next >= 0 && totals_.category[*next] != category) next = &next_[*next];
        if (*next >= 0) return *next;
        *next = static_cast<int32_t>(next_.size());
        const size_t group = next_.size();
        next_.push_back(-1);  // may move what `next` points to, so it comes last
        add(name, category);
        return group;
    }

private:
    void add(uint32_t name, uint8_t category) {
        totals_.name.push_back(name);
        totals_.category.push_back(category);
        totals_.count.push_back(0);
        totals_.total_ns.push_back(0);
        totals_.self_ns.push_back(0);
        totals_.min_ns.push_back(INT64_MAX);
        totals_.max_ns.push_back(0);
    }
    NameTotals& totals_;
    std::vector<int32_t> first_, next_;
};

}  // namespace

NameTotals totals_by_name(const Trace& trace, const Nesting& nesting) {
    NameTotals totals;
    Groups groups(totals, trace.strings.size());
    each_row(trace, [&](size_t row) {
        if (!is_span(trace, row)) return;
        const size_t group = groups.of(trace.name[row], trace.category[row]);
        const int64_t duration = trace.duration_ns[row];
        totals.count[group] += 1;
        totals.total_ns[group] += duration;
        totals.self_ns[group] += nesting.self_ns[row];
        totals.min_ns[group] = std::min(totals.min_ns[group], duration);
        totals.max_ns[group] = std::max(totals.max_ns[group], duration);
    });
    return totals;
}

}  // namespace kinetograph::trace
