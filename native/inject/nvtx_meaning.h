// How values of NVTX counters are meant, as their semantics say.
#pragma once

#include <atomic>
#include <optional>

#include "inject/nvtx_headers.h"

namespace kinetograph::inject {

// Without a word about them, times are those of the tool, and values stand for themselves.
struct Meaning {
    std::optional<bool> has_our_times;
    std::optional<bool> is_difference;  // to the value before
    std::optional<double> scale;

    // What this one leaves open is as the other says.
    Meaning within(const Meaning& group) const;
};

// That some program has told of a counter, or of an entry of a group, that it gives differences.
inline std::atomic<bool> are_differences_told{false};

Meaning meaning_of(const nvtxSemanticsHeader_t* semantics);

}  // namespace kinetograph::inject
