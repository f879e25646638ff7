// From the bytes of a profiler buffer to a Trace: a track per SM and block, or group of threads in a block.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::intra_kernel {

struct DecodeOptions {
    std::vector<std::string> task_names;  // by number; others are called "task 7"
    int64_t offset_ns = 0;                // what has to be added to a globaltimer to make it wall time
    uint8_t device_type = 0;
    int32_t device_index = -1;
};

// Never throws for what the bytes are: what cannot be understood becomes a note. Times are those of the
// globaltimer plus the offset. One pass over the headers, one over the records.
trace::Trace decode(std::span<const std::byte> bytes, const DecodeOptions& options);

}  // namespace kinetograph::intra_kernel
