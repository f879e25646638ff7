// Whatever the bytes are: read_perfetto returns or throws ParseError, the same however they are cut into
// pieces, and what it returns can be written and read again to the same bytes, and read from JSON.
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "traces.h"

namespace {

using namespace kinetograph;

void require(bool condition) {
    if (!condition) std::abort();
}

struct Rewritten {
    std::string perfetto, json;
    bool operator==(const Rewritten&) const = default;
};

std::optional<Rewritten> rewritten(std::string_view bytes, size_t piece) {
    try {
        const trace::Trace trace = test::read_perfetto(bytes, piece);
        return Rewritten{test::written_perfetto(trace), test::written(trace)};
    } catch (const format::ParseError& error) {
        require(error.offset <= bytes.size());
        return std::nullopt;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::optional<Rewritten> once = rewritten(bytes, size + 1);
    const size_t piece = size == 0 ? 1 : 1 + data[size / 2] % 13;
    require(rewritten(bytes, piece) == once);
    if (!once) return 0;
    require(rewritten(once->perfetto, 1 << 20) == once);
    require(test::read(once->json).size() == test::read_perfetto(bytes).size());
    return 0;
}
