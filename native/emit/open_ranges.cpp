#include "emit/open_ranges.h"

namespace kinetograph::emit {

void OpenRanges::end_at(size_t index) {
    if (open_[index].is_pushed)
        take_off(index);
    else
        tool_.end(open_[index].started);
    open_.erase(open_.begin() + ptrdiff_t(index));
    publish();
}

void OpenRanges::end_all(uint32_t category) {
    for (size_t i = open_.size(); i-- > 0;)
        if (open_[i].range.look.category == category) end_at(i);
}

// The innermost of its context; one that was begun in another context, as steps may be, if there is none.
size_t OpenRanges::find(const void* key, uintptr_t context) const {
    size_t elsewhere = nowhere;
    for (size_t i = open_.size(); i-- > 0;) {
        if (open_[i].key != key) continue;
        if (open_[i].context == context) return i;
        if (elsewhere == nowhere) elsewhere = i;
    }
    return elsewhere;
}

void OpenRanges::take_off(size_t index) {
    for (size_t above = open_.size(); above-- > index + 1;)
        if (open_[above].is_pushed) tool_.pop();
    tool_.pop();
    --pushed_;
    for (size_t above = index + 1; above < open_.size(); ++above)
        if (open_[above].is_pushed) tool_.push(open_[above].range);
}

}  // namespace kinetograph::emit
