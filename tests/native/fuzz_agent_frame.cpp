// Whatever the bytes are: the same requests come out however they are cut into pieces, none is longer than
// allowed, and after garbage nothing is found any more.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/frame.h"

namespace {

using namespace kinetograph::agent;

void require(bool condition) {
    if (!condition) std::abort();
}

struct Heard {
    std::vector<std::pair<Kind, std::string>> requests;
    bool is_garbage = false;
    bool operator==(const Heard&) const = default;
};

Heard heard(std::string_view bytes, size_t piece) {
    Heard all;
    FrameReader reader;
    for (size_t at = 0; at < bytes.size() && !all.is_garbage; at += piece) {
        reader.feed(bytes.substr(at, piece));
        Frame frame;
        FrameReader::Found found;
        while ((found = reader.next(frame)) == FrameReader::Found::frame) {
            require(frame.payload.size() <= most_payload_bytes);
            all.requests.emplace_back(frame.kind, std::move(frame.payload));
        }
        all.is_garbage = found == FrameReader::Found::garbage;
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Heard once = heard(bytes, std::max<size_t>(size, 1));
    require(heard(bytes, size == 0 ? 1 : 1 + data[size / 2] % 13) == once);
    std::string again;
    for (const auto& [kind, payload] : once.requests) again += framed(kind, payload);
    require(bytes.starts_with(again));
    return 0;
}
