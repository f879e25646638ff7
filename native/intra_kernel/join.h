// Records from inside kernels join the trace of a session: under the kernels that made them, in wall time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "intra_kernel/attribution.h"
#include "trace/trace.h"

namespace kinetograph::intra_kernel {

// What one profiler buffer held. The bytes must live until the join is done.
struct BufferContents {
    std::span<const std::byte> bytes;
    std::vector<std::string> task_names;
    int32_t device_index = -1;  // -1: host memory, whose clock is the host's
};

// `measured`: what calibrations said, by device; where there are kernels they only help to find those.
//
// Adds rows, tracks, notes and the metadata `intra_kernel_clock`. Records of before and after the window of
// the trace are left out. Never throws for what the bytes are.
//
// Up to `most_own_groups` launches have a process of their own each, with a track for each SM and block. Of
// more, those of one kernel share a process, with a few tracks for each SM: nobody opens thousands.
void join(trace::Trace& trace, const std::vector<BufferContents>& buffers,
          const std::map<int32_t, std::vector<MeasuredOffset>>& measured, size_t most_own_groups = 64);

}  // namespace kinetograph::intra_kernel
