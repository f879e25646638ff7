// The arrows of a Kineto trace: from a launch to its device work, and from forward to backward operators.
#pragma once

#include <cstdint>
#include <vector>

#include "format/sequence_arrows.h"
#include "trace/trace.h"

namespace kinetograph::format {

// Only arrows with both ends are drawn: importers count half ones as errors.
class Flows {
public:
    explicit Flows(const trace::Trace& trace);

    bool starts_device_work(size_t row) const { return is_launch(row) && in(device_side_, row); }
    bool is_device_work(size_t row) const { return on_device(row) && in(launch_side_, row); }

    // In order of row.
    const std::vector<FlowEnd>& forward() const { return sequences_.forward; }
    const std::vector<FlowEnd>& backward() const { return sequences_.backward; }

private:
    void collect_correlations();
    bool is_launch(size_t row) const;
    bool on_device(size_t row) const;
    bool in(const trace::Column<int64_t>& correlations, size_t row) const;

    const trace::Trace& trace_;
    std::vector<bool> is_launch_category_;
    trace::Column<int64_t> launch_side_, device_side_;  // sorted correlation ids
    const SequenceArrows sequences_;
};

}  // namespace kinetograph::format
