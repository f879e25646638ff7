// A note of something that may happen with every annotation, and must not cost a record each time.
#pragma once

#include <atomic>
#include <cstdint>

namespace kinetograph::inject {

// Each of its own is told at once where there are few. Of many within a hundredth of a second, a trace may
// lack the last sixteenth.
class CountedNote {
public:
    constexpr CountedNote(const char* kind, const char* text) : kind_(kind), text_(text) {}

    void count(uint64_t more = 1);

private:
    const char* const kind_;
    const char* const text_;
    std::atomic<int64_t> since_ns_{0};
    std::atomic<uint64_t> told_{0};
    std::atomic<uint64_t> waiting_{0};
};

}  // namespace kinetograph::inject
