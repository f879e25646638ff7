// Events of one line of execution, told in the order they ended, put in the order they started.
//
// Nested spans end in post-order and start in pre-order. With the size of each subtree known, the place of a
// node is
//     pre = post - size + 1 + depth
// so two passes over four bytes per event do what a sort would do, and touch memory in order.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/column.h"

namespace kinetograph::trace {

class StartOrder {
public:
    explicit StartOrder(const Storage& storage) : places_(storage), starts_(storage), ends_(storage) {}

    // In the order of their ends; foreign code may get that wrong, and then counts as crossing.
    void add(int64_t start, int64_t end);
    // Call once after the last add.
    void finish();

    uint32_t place(size_t ended) const { return places_[ended]; }
    void drop_places(size_t begin, size_t end) const { places_.drop_pages(begin, end); }
    size_t size() const { return places_.size(); }
    // Spans crossed, so they are no tree, and the places are not quite in the order of starts.
    bool crosses() const { return crosses_; }

private:
    void drop_pages(size_t begin, size_t end) const;

    // Until finish() this holds the sizes of subtrees; the subtree before the one that ends at i ends at
    // i - size, so the stack of subtrees without a parent needs no memory of its own.
    Column<uint32_t> places_;
    Column<int64_t> starts_;
    Column<int64_t> ends_;
    bool crosses_ = false;
};

}  // namespace kinetograph::trace
