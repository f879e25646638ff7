#include "trace/start_order.h"

namespace kinetograph::trace {

void StartOrder::add(int64_t start, int64_t end) {
    const size_t here = places_.size();
    size_t root = here;  // one past the last subtree that still has no parent
    while (root != 0 && starts_[root - 1] >= start) root -= places_[root - 1];
    if (root != 0 && ends_[root - 1] > start) crosses_ = true;
    if (here != 0 && end < ends_[here - 1]) crosses_ = true;  // not told in the order of ends
    places_.push_back(uint32_t(here - root + 1));
    starts_.push_back(start);
    ends_.push_back(end);
    if (places_.size() % rows_between_drops == 0) drop_pages(here - rows_between_drops + 1, here);
}

// What lies behind is seldom looked at again; if it lives in a file it need not stay in memory.
void StartOrder::drop_pages(size_t begin, size_t end) const {
    places_.drop_pages(begin, end);
    starts_.drop_pages(begin, end);
    ends_.drop_pages(begin, end);
}

void StartOrder::finish() {
    starts_ = {};
    ends_ = {};
    std::vector<size_t> lowest;  // first members of the subtrees we are inside of
    for (size_t i = places_.size(); i-- > 0;) {
        while (!lowest.empty() && i < lowest.back()) lowest.pop_back();
        const size_t first = i + 1 - places_[i];
        places_[i] = uint32_t(first + lowest.size());
        lowest.push_back(first);
        if (i % rows_between_drops == 0) places_.drop_pages(i, i + rows_between_drops);
    }
}

}  // namespace kinetograph::trace
