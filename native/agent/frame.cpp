#include "agent/frame.h"

#include <algorithm>

namespace kinetograph::agent {

namespace {

constexpr std::string_view magic("KG\x01", 3);  // and the version
constexpr std::string_view requests = "SCX";

uint32_t length_at(const char* bytes) {
    uint32_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | uint8_t(bytes[i]);
    return length;
}

}  // namespace

FrameReader::Found FrameReader::next(Frame& frame) {
    if (!begins_a_request()) return Found::garbage;
    if (pending_.size() < header_bytes) return Found::nothing_yet;
    const size_t length = length_at(pending_.data() + 4);
    if (length > most_payload_bytes) return Found::garbage;
    if (pending_.size() - header_bytes < length) return Found::nothing_yet;
    frame = {Kind(pending_[3]), pending_.substr(header_bytes, length)};
    pending_.erase(0, header_bytes + length);
    return Found::frame;
}

// As far as it is there: who speaks something else is told apart by the first byte.
bool FrameReader::begins_a_request() const {
    const size_t known = std::min(pending_.size(), magic.size());
    if (pending_.compare(0, known, magic.substr(0, known)) != 0) return false;
    return pending_.size() <= magic.size() || requests.find(pending_[3]) != std::string_view::npos;
}

std::string framed(Kind kind, std::string_view payload) {
    std::string bytes(magic);
    bytes += char(kind);
    for (int shift = 24; shift >= 0; shift -= 8) bytes += char(payload.size() >> shift);
    return bytes.append(payload);
}

}  // namespace kinetograph::agent
