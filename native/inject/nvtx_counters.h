// Counters of NVTX: a name, and how its values are laid out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/domain.h"
#include "inject/nvtx_headers.h"
#include "inject/nvtx_meaning.h"
#include "inject/record_table.h"

namespace kinetograph::inject {

// Samples are wanted while nobody records, too, where some of them are differences to those before.
inline bool wants_samples() {
    return is_listening() || are_differences_told.load(std::memory_order_relaxed);
}

uint64_t register_counter(const Domain& domain, const nvtxCounterAttr_t* counter);
void sample_counter(const Domain& domain, uint64_t counter, double value);
// A group of counters gives a value for each of its members.
void sample_counter(const Domain& domain, uint64_t counter, const void* values, size_t bytes);
// One without a value, which says that it is zero.
void sample_zero(const Domain& domain, uint64_t counter);
// Values that were taken earlier. Times are those that nvtxTimestampGet gave: ticks. Of others, how
// many are lost.
size_t sample_batch(const Domain& domain, const nvtxCounterBatch_t& batch);

}  // namespace kinetograph::inject
