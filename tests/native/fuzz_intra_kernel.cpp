// Whatever the bytes are: decoding ends, times run forward on each track, and nothing lasts less than no
// time.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "intra_kernel/decode.h"
#include "intra_kernel/join.h"
#include "intra_kernel/task_times.h"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

using namespace kinetograph;

void check_rows(const trace::Trace& trace) {
    for (size_t row = 0; row < trace.size(); ++row) {
        require(trace.duration_ns[row] >= 0 && trace.track[row] < trace.tracks.size());
        require(!trace.args_of(row).empty());
        if (row > 0 && trace.track[row] == trace.track[row - 1])
            require(trace.start_ns[row] >= trace.start_ns[row - 1]);
    }
}

// A session of a second that ran two kernels.
trace::Trace session() {
    trace::Trace trace;
    trace.processes.push_back({"0", "python", "GPU 0", ""});
    trace.tracks.push_back({0, "7", "stream 7 ", "", -1, 1, 0});
    trace.args_text.append("\"grid\":[64,1,1]", 16);
    for (const int64_t start_ns : {1'700'000'000'000'000'000, 1'700'000'000'500'000'000}) {
        trace.start_ns.push_back(start_ns);
        trace.duration_ns.push_back(10'000'000);
        trace.name.push_back(trace.strings.intern("kernel"));
        trace.track.push_back(0);
        trace.category.push_back(uint8_t(trace::Category::kernel));
        trace.kind.push_back(0);
        trace.scope.push_back(0);
        trace.flags.push_back(0);
        trace.correlation.push_back(1);
        trace.args.push_back({0, 16});
    }
    return trace;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const trace::Trace alone = intra_kernel::decode(bytes, {{"first"}});
    require(alone.size() <= size / 16);
    check_rows(alone);
    for (const int32_t device : {0, -1}) {
        trace::Trace joined = session();
        intra_kernel::join(joined, {{bytes, {"first"}, device}}, {}, size % 3);
        require(joined.size() <= 2 + size / 16);
        check_rows(joined);
        intra_kernel::task_times(joined);
    }
    return 0;
}
