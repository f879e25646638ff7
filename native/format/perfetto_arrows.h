// The arrows of a trace, numbered so that each has two ends: Perfetto draws one from every id to its next
// slice in time, while in JSON one id may fan out.
#pragma once

#include <cstdint>
#include <vector>

#include "format/flows.h"
#include "trace/trace.h"

namespace kinetograph::format::perfetto {

class Arrows {
public:
    explicit Arrows(const trace::Trace& trace);

    // Both in order of row; a row may be the source of many.
    const std::vector<FlowEnd>& sources() const { return sources_; }
    const std::vector<FlowEnd>& targets() const { return targets_; }

private:
    void add_device_work(const Flows& flows);
    void add_backward(const Flows& flows);
    void add(uint32_t source, uint32_t target);

    const trace::Trace& trace_;
    std::vector<FlowEnd> sources_, targets_;
};

}  // namespace kinetograph::format::perfetto
