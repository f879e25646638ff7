// Annotations that are no nested ranges: points in time, ranges that may cross, values, names of threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "inject/nested_ranges.h"

namespace kinetograph::inject {

void mark(const Annotation& annotation);

// In two halves, which `id` joins. They may be in two threads.
void begin_range(uint64_t id, const Annotation& annotation);
void end_range(uint64_t id, const Annotation& more);
// Ids that nobody else has, never 0.
uint64_t next_range_id();

// Only the calling one: others have buffers of their own.
void name_thread(int32_t tid, std::string_view name);

}  // namespace kinetograph::inject
