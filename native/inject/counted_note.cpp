#include "inject/counted_note.h"

#include <algorithm>

#include "inject/record_table.h"

namespace kinetograph::inject {

void CountedNote::count(uint64_t more) {
    constexpr int64_t window_ns = 10'000'000;
    if (!is_listening()) return;
    const int64_t now_ns = recorder->wall_ns(), since_ns = since_ns_.load();
    if (now_ns - since_ns > window_ns || now_ns < since_ns) {
        since_ns_ = now_ns;
        told_ = 0;
    }
    if (waiting_.fetch_add(more) + more <= told_.load() / 16) return;
    const uint64_t all = std::min<uint64_t>(waiting_.exchange(0), UINT32_MAX);
    told_ += all;
    if (all != 0) recorder->note(kind_, text_, uint32_t(all));
}

}  // namespace kinetograph::inject
