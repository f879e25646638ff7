// A name as tools know it: they give a handle for a text once, and take that from then on.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/visibility.h"

namespace kinetograph::emit {

struct Name {
    explicit Name(std::string_view name, bool kept = true) : text(name), is_kept(kept) {}

    const std::string text;
    const bool is_kept;  // false: for one range only, so no tool is to remember it
    // Of our domain; nullptr or 0 until the first use. Released by whoever asked the tool for one, for it
    // points to what the tool has written.
    std::atomic<void*> nvtx{nullptr};
    std::atomic<void*> itt{nullptr};
    std::atomic<uint64_t> nvtx_counter{0};
    std::atomic<void*> itt_counter{nullptr};
};

// What a tool gives for a name, asked for at its first use. Threads may ask at once: all of them use what
// came first, or a counter would be two in the tool.
template <typename Handle, typename Ask>
Handle asked_once(std::atomic<Handle>& handle, Ask ask) {
    Handle known = handle.load(std::memory_order_acquire);
    if (known) [[likely]]
        return known;
    const Handle fresh = ask();
    const bool is_first = handle.compare_exchange_strong(known, fresh, std::memory_order_acq_rel);
    return is_first ? fresh : known;
}

// The same for the same text, and for ever. nullptr once there are very many: what a program makes up as it
// runs must not fill the memory of a tool. Never throws; from any thread.
KINETOGRAPH_API Name* name_of(std::string_view text) noexcept;

}  // namespace kinetograph::emit
