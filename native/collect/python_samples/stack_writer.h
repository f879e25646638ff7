// Writes samples into a thread buffer: a stack is spelled once in each extent and only numbered after that.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/thread_buffer.h"

namespace kinetograph::collect {

class StackWriter {
public:
    // Whether it was written: a stack that was not is spelled again the next time.
    bool write(record::ThreadBuffer& buffer, record::OtherThread thread, uint64_t at,
               const std::vector<uint32_t>& names);
    void forget() { stacks_.clear(); }

private:
    struct Hash {
        size_t operator()(const std::vector<uint32_t>& names) const noexcept;
    };
    struct Known {
        uint32_t number = 0;
        uint64_t extent = 0;  // the order of the one that spells it
    };

    Known& known_stack(const std::vector<uint32_t>& names);

    std::unordered_map<std::vector<uint32_t>, Known, Hash> stacks_;
    size_t names_kept_ = 0;
    uint32_t last_number_ = record::empty_stack;
};

}  // namespace kinetograph::collect
