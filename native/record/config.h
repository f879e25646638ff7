// What a session asks of the recorder.
#pragma once

#include <cstdint>
#include <string>

#include "record/memory.h"

namespace kinetograph::record {

struct SessionOptions {
    bool all_threads = false;
    // Begins with the first resume: until then everything is as if it recorded, and nothing is kept.
    bool starts_paused = false;
    // Ring mode keeps only the newest of what is recorded: this many bytes, or this long. 0: not limited that
    // way.
    uint64_t ring_bytes = 0;
    int64_t ring_ns = 0;
    bool is_ring() const { return ring_bytes != 0 || ring_ns != 0; }
    PoolLimits limits;
    // Not empty: memory is a file in this directory that outlives the process (see session_file.h).
    std::string session_directory;
};

}  // namespace kinetograph::record
