#include "format/perfetto_packet_reader.h"

#include <algorithm>

#include "format/perfetto_fields.h"
#include "format/proto_reader.h"

namespace kinetograph::format::perfetto {

namespace {

constexpr char tag_of_packet = trace_file::packet << 3 | 2;
constexpr size_t longest_head = 11;  // the tag, and a length of at most ten bytes

// Whether the length behind the tag is all there. What is no packet has what it takes to be refused.
bool has_head(std::string_view rest) {
    if (rest.size() >= longest_head || rest.front() != tag_of_packet) return true;
    return std::any_of(rest.begin() + 1, rest.end(), [](char byte) { return (byte & 0x80) == 0; });
}

}  // namespace

bool PacketReader::next() {
    at_ += size_;
    size_ = 0;
    while (true) {
        const std::string_view rest(at_, static_cast<size_t>(window_.end() - at_));
        if (rest.empty() && window_.is_complete()) return false;
        if (!rest.empty() && has_head(rest) && take_packet(rest)) return true;
        if (window_.is_complete()) return !(is_cut_ = true);
        window_.refill(at_);
        at_ = window_.begin();
    }
}

// False when it goes on behind the window.
bool PacketReader::take_packet(std::string_view rest) {
    ProtoReader reader(rest, offset());
    if (rest.front() != tag_of_packet) throw ParseError(offset(), "expected a packet of a Perfetto trace");
    reader.varint();
    const uint64_t length = reader.varint();
    const size_t head = reader.offset() - offset();
    if (length > rest.size() - head) return false;
    at_ += head;
    size_ = static_cast<size_t>(length);
    return true;
}

}  // namespace kinetograph::format::perfetto
