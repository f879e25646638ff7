// The arrows from forward to backward operators, by the sequence numbers that PyTorch gives both.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::format {

// One end of an arrow.
struct FlowEnd {
    uint32_t row;
    uint32_t id;
};

// In order of row.
struct SequenceArrows {
    std::vector<FlowEnd> forward, backward;
};

// Several operators may share a number: a forward operator and the ones it calls. The arrow leaves the last
// and reaches the first, as PyTorch draws it, which is not the engine that evaluates it.
SequenceArrows sequence_arrows(const trace::Trace& trace);

}  // namespace kinetograph::format
