// Whatever the bytes are: decoding ends, times run forward on each track, and nothing lasts less than no
// time.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "intra_kernel/decode.h"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kinetograph;
    const trace::Trace trace = intra_kernel::decode(std::as_bytes(std::span(data, size)), {{"first"}});
    require(trace.size() <= size / 16);
    for (size_t row = 0; row < trace.size(); ++row) {
        require(trace.duration_ns[row] >= 0 && trace.track[row] < trace.tracks.size());
        require(!trace.args_of(row).empty());
        if (row > 0 && trace.track[row] == trace.track[row - 1])
            require(trace.start_ns[row] >= trace.start_ns[row - 1]);
    }
    return 0;
}
