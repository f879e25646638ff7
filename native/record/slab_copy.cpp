#include "record/slab_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "record/extent.h"

namespace kinetograph::record {

namespace {

// Whose an extent is: whoever takes the memory for something else writes another.
struct Holder {
    uint32_t magic;
    ExtentKind kind;
    uint32_t capacity;
    uint32_t thread;
    uint64_t order;
    uint64_t since;

    bool operator==(const Holder&) const = default;
};

struct Seen {
    size_t place;
    Holder holder;
    uint64_t state;
};

// The state last: what is counted there is not of an earlier holder.
Seen see(const ExtentHeader& extent, size_t place) {
    const Holder holder{extent.magic,  extent.kind,  extent.capacity,
                        extent.thread, extent.order, extent.anchor.ticks};
    std::atomic_thread_fence(std::memory_order_acquire);
    return {place, holder, extent.state.load(std::memory_order_acquire)};
}

const ExtentHeader& header_at(const std::byte* slab, size_t place) {
    return *reinterpret_cast<const ExtentHeader*>(slab + place);
}

// One behind the other, as far as they make sense.
std::vector<Seen> extents_in(const std::byte* slab) {
    std::vector<Seen> seen;
    for (size_t at = 0; at + sizeof(ExtentHeader) <= slab_bytes;) {
        const Seen extent = see(header_at(slab, at), at);
        if (extent.holder.magic != extent_magic || extent.holder.capacity > slab_units) break;
        seen.push_back(extent);
        at += sizeof(ExtentHeader) + size_t(extent.holder.capacity) * unit_bytes;
    }
    return seen;
}

bool have_same_holders(const std::vector<Seen>& some, const std::vector<Seen>& others) {
    return std::equal(
        some.begin(), some.end(), others.begin(), others.end(),
        [](const Seen& a, const Seen& b) { return a.place == b.place && a.holder == b.holder; });
}

// Records and items may have been added, behind those that were counted before. Open scopes change in place,
// and so does what is told of operators, which is only left out: it seldom holds still.
bool settle(ExtentHeader& copied, const Seen& before, const Seen& now) {
    if (now.holder != before.holder) return false;
    const bool is_left_out = before.holder.kind == ExtentKind::told && now.state != before.state;
    copied.state.store(is_left_out ? 0 : before.state, std::memory_order_relaxed);
    return before.holder.kind != ExtentKind::stack || now.state == before.state;
}

bool try_to_copy(const std::byte* slab, std::byte* copy) {
    const std::vector<Seen> before = extents_in(slab);
    std::memcpy(copy, slab, slab_bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!have_same_holders(extents_in(copy), before)) return false;
    return std::all_of(before.begin(), before.end(), [&](const Seen& seen) {
        auto& copied = *reinterpret_cast<ExtentHeader*>(copy + seen.place);
        return settle(copied, seen, see(header_at(slab, seen.place), seen.place));
    });
}

}  // namespace

bool copy_slab(const std::byte* slab, std::byte* copy) {
    for (int attempt = 0; attempt < 100; ++attempt)
        if (try_to_copy(slab, copy)) return true;
    std::memset(copy, 0, slab_bytes);
    return false;
}

}  // namespace kinetograph::record
