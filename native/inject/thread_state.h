// What a thread keeps that annotates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/itt_types.h"
#include "inject/domain.h"
#include "inject/recent_looks.h"
#include "inject/recent_texts.h"

namespace kinetograph::inject {

class IttCounter;

// One that was pushed and not yet popped.
struct OpenRange {
    OpenRange(uint32_t called, uint64_t numbered) : name(called), number(numbered) {}

    uint32_t name;     // 0: it is not recorded
    uint64_t number;   // by which it may be described; 0: none
    std::string args;  // members of a JSON object; most have none
};

struct DomainRanges {
    static constexpr size_t most = 1 << 16;  // of ranges that are pushed and never popped
    const Domain* domain;
    std::vector<OpenRange> open;
    size_t beyond = 0;  // pushed on top of that many; only counted
};

struct ThreadState {
    std::vector<DomainRanges> domains;  // few
    RecentTexts<uint32_t> names;
    RecentTexts<itt::String*> itt_strings;
    std::unique_ptr<RecentTexts<IttCounter*>> itt_counters;  // for those that count by name
    RecentLooks looks;
    uint64_t next_range_id = 0;
};

// nullptr before its first annotation. A word of static TLS: the fastest there is, and all that we take of
// it.
extern constinit thread_local ThreadState* current_state __attribute__((tls_model("initial-exec")));

ThreadState& make_state();

inline ThreadState& this_thread() {
    ThreadState* state = current_state;
    return state ? *state : make_state();
}

}  // namespace kinetograph::inject
