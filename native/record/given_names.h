// Names for threads that have recorded nothing yet: whoever starts a thread may name it before that does
// anything.
//
// Under the recorder's lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kinetograph::record {

class GivenNames {
public:
    // To a thread of this process; of others nothing is kept. An empty name takes the last one back.
    void give(int32_t tid, std::string_view name);
    // Of the thread that has this number now, not of one that had it before; empty: none.
    std::string take(int32_t tid);
    void forget_ended();
    void forget_all() { names_.clear(); }
    std::unordered_map<int32_t, std::string> all() const;

private:
    struct Given {
        std::string name;
        uint64_t born;
    };
    std::unordered_map<int32_t, Given> names_;  // by tid
    size_t most_ = 1'000;                       // before those of threads that have ended are looked for
};

}  // namespace kinetograph::record
