#include "format/begin_ends.h"

#include <algorithm>

namespace kinetograph::format {

void BeginEnds::add(const Mark& mark) {
    if (last_ns_.size() <= mark.track) last_ns_.resize(mark.track + 1, INT64_MIN);
    is_ordered_ &= mark.time_ns >= last_ns_[mark.track];
    last_ns_[mark.track] = mark.time_ns;
    marks_.push_back(mark);
}

// What is told of one moment stays in the order of the file.
void BeginEnds::sort() {
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
}

}  // namespace kinetograph::format
