// Whatever the bytes are: read_chrome_json returns or throws ParseError, the same however they are cut into
// pieces, and what it returns can be written and read again to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "traces.h"

namespace {

using namespace kinetograph;

void require(bool condition) {
    if (!condition) std::abort();
}

std::optional<std::string> rewritten(std::string_view text, size_t piece) {
    try {
        return test::written(test::read(text, piece));
    } catch (const format::ParseError& error) {
        require(error.offset <= text.size());
        return std::nullopt;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::optional<std::string> once = rewritten(text, size + 1);
    const size_t piece = size == 0 ? 1 : 1 + data[size / 2] % 13;
    require(rewritten(text, piece) == once);
    if (once) require(rewritten(*once, 1 << 20) == once);
    return 0;
}
