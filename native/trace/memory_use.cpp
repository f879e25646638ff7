#include "trace/memory_use.h"

#include <algorithm>
#include <string_view>

#include "trace/event_args.h"

namespace kinetograph::trace {

namespace {

// PyTorch's numbers; the three of them are memory of the host.
constexpr int64_t device_cpu = 0, device_mkldnn = 2, device_ideep = 5;

bool is_on_host(int64_t device_type) {
    return device_type == device_cpu || device_type == device_mkldnn || device_type == device_ideep;
}

}  // namespace

MemoryUse attribute_memory(const Trace& trace, const Nesting& nesting) {
    MemoryUse use{Column<int64_t>(trace.storage), Column<int64_t>(trace.storage)};
    if (std::find(trace.kind.begin(), trace.kind.end(), uint8_t(EventKind::memory)) == trace.kind.end())
        return use;
    use.host_bytes.resize(trace.size());
    use.device_bytes.resize(trace.size());
    each_row(trace, [&](size_t row) {
        const int32_t span = nesting.parent[row];
        if (trace.kind[row] != uint8_t(EventKind::memory) || span < 0) return;
        const std::string_view args = trace.args_of(row);
        auto& bytes = is_on_host(integer_argument(args, "Device Type")) ? use.host_bytes : use.device_bytes;
        bytes[span] += integer_argument(args, "Bytes");
    });
    return use;
}

}  // namespace kinetograph::trace
