// Annotations that are no nested ranges: points in time and ranges that may cross.
#pragma once

#include <cstdint>

#include "inject/nested_ranges.h"

namespace kinetograph::inject {

void mark(const Annotation& annotation);

// In two halves, which `id` joins. They may be in two threads.
void begin_range(uint64_t id, const Annotation& annotation);
void end_range(uint64_t id, const Annotation& more);
void begin_range_at(uint64_t ticks, uint64_t id, const Annotation& annotation);
void end_range_at(uint64_t ticks, uint64_t id, const Annotation& more);
// Ids that nobody else has, never 0.
uint64_t next_range_id();

}  // namespace kinetograph::inject
