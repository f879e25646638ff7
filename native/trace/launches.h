// Which host call launched what: calls into a runtime or driver by the correlation ids they share with device
// work.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::trace {

class Launches {
public:
    explicit Launches(const Trace& trace);

    // The row of the call with this correlation id; -1 when there is none.
    int32_t find(int64_t correlation) const;
    bool is_launch(size_t row) const { return is_launch_category_[trace_.category[row]]; }

    // Calls visit(row) for each call that has a correlation id.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Launch& launch : launches_) visit(launch.row);
    }

private:
    struct Launch {
        int64_t correlation;
        int32_t row;
        bool operator<(const Launch& other) const { return correlation < other.correlation; }
    };

    const Trace& trace_;
    std::vector<bool> is_launch_category_;
    std::vector<Launch> launches_;  // by correlation id
};

}  // namespace kinetograph::trace
