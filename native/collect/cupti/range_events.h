// Counted ranges as events: when each of them was, under which name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/cupti/launch_log.h"
#include "collect/cupti/range_profiler.h"
#include "record/thread_buffer.h"

namespace kinetograph::collect::cupti {

struct RangeEvent {
    std::string name;
    uint64_t start, end;  // ticks
    std::vector<double> values;
};

// A range of the program's, in the order in which they were pushed.
struct PushedRange {
    std::string name;
    uint64_t start, end;  // ticks
};

// Kernels run one after the other while they are counted, each within the call that launches it: the n-th is
// that of the n-th call to return. Where CUPTI gives too few, the last calls have none.
std::vector<RangeEvent> name_kernels(const std::vector<CountedRange>& counted,
                                     const std::vector<Launch>& launches);
// The name of a counted range is the number of what was pushed, the first of which is `first`.
std::vector<RangeEvent> name_ranges(const std::vector<CountedRange>& counted,
                                    const std::vector<PushedRange>& pushed, size_t first);

void append(record::ThreadBuffer& thread, int32_t device, const std::vector<std::string>& metrics,
            const RangeEvent& event);

}  // namespace kinetograph::collect::cupti
