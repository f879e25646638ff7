// Whatever the bytes are: decoding ends, times run forward on each track, and nothing lasts less than no
// time.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

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

constexpr int64_t now_ns = 1'700'000'000'000'000'000;

void add_kernel(trace::Trace& trace, int64_t start_ns, int64_t duration_ns, std::string_view grid) {
    trace.start_ns.push_back(start_ns);
    trace.duration_ns.push_back(duration_ns);
    trace.name.push_back(trace.strings.intern("kernel"));
    trace.track.push_back(0);
    trace.category.push_back(uint8_t(trace::Category::kernel));
    trace.kind.push_back(0);
    trace.scope.push_back(0);
    trace.flags.push_back(0);
    trace.correlation.push_back(1);
    trace.args.push_back({uint64_t(trace.args_text.size()), uint32_t(grid.size())});
    trace.args_text.append(grid.data(), grid.size());
}

// A session of a second: long kernels far from each other, and short ones that follow closely.
trace::Trace session() {
    trace::Trace trace;
    trace.processes.push_back({"0", "python", "GPU 0", ""});
    trace.tracks.push_back({0, "7", "stream 7 ", "", -1, 1, 0});
    for (const int64_t start_ns : {now_ns, now_ns + 500'000'000})
        add_kernel(trace, start_ns, 10'000'000, "\"grid\":[64,1,1]");
    for (int64_t i = 0; i < 12; ++i)
        add_kernel(trace, now_ns + 600'000'000 + i * 1'500, 1'500,
                   i % 6 == 0   ? "\"stream\":7"
                   : i % 3 == 0 ? "\"grid\":[4,1,1]"
                                : "\"grid\":[64,1,1]");
    return trace;
}

// What a calibration may have said of the first device: anything that is a time.
intra_kernel::MeasuredOffset measured(const uint8_t* data, size_t size) {
    int64_t words[3] = {};
    std::memcpy(words, data + (size - std::min(size, sizeof words)), std::min(size, sizeof words));
    return {words[0] >> 3, words[1] >> 3, std::abs(words[2] >> 3)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const trace::Trace alone = intra_kernel::decode(bytes, {{"first"}});
    require(alone.size() <= size / 16);
    check_rows(alone);
    for (const int32_t device : {0, -1}) {
        trace::Trace joined = session();
        const size_t kernels = joined.size();
        std::map<int32_t, std::vector<intra_kernel::MeasuredOffset>> offsets;
        if (size % 2) offsets[0] = {measured(data, size)};
        if (size % 4 == 3) offsets[0].push_back(measured(data, size / 2));
        // The same twice, as if two buffers had been passed to each kernel.
        const intra_kernel::BufferContents contents{bytes, {"first"}, device};
        intra_kernel::join(joined, {contents, contents}, offsets, size % 3);
        require(joined.size() <= kernels + 2 * (size / 16));
        check_rows(joined);
        intra_kernel::task_times(joined);
    }
    return 0;
}
