// What reports make of names: which are shown as one, and which are not shown at all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::trace {

// Steps are numbered, and reports put them into one row.
inline constexpr std::string_view step_prefix = "ProfilerStep#";
inline constexpr std::string_view all_steps = "ProfilerStep*";

// Decided once per name, so that rows only look it up.
class NameRules {
public:
    explicit NameRules(const Trace& trace);

    // The bookkeeping of a framework, which PyTorch's tables leave out too. Its time counts for what is
    // around.
    bool is_hidden(uint32_t name) const { return is_hidden_[name]; }
    // The id under which a name is counted: the first step stands for all of them.
    uint32_t counted_as(uint32_t name) const { return counted_as_[name]; }

private:
    std::vector<uint32_t> counted_as_;
    std::vector<bool> is_hidden_;
};

}  // namespace kinetograph::trace
