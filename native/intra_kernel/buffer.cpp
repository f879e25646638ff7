#include "intra_kernel/buffer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace kinetograph::intra_kernel {

namespace {

struct BufferHeader {
    uint32_t magic, version, segment_slots, segment_count;
    uint32_t first_segment, nothing;
    uint64_t claimed;
    Slot unused[2];
};
static_assert(sizeof(BufferHeader) == KG_HEADER_SLOTS * KG_SLOT_BYTES);
static_assert(offsetof(BufferHeader, claimed) == KG_CLAIMED_OFFSET);

void number_launches(std::vector<Segment>& segments) {
    std::map<std::tuple<uint32_t, uint8_t, uint32_t, uint8_t>, uint32_t> seen;
    for (Segment& segment : segments) {
        const SegmentHeader& header = segment.header;
        segment.launch = seen[{header.block_count, header.group_count, header.block, header.group}]++;
    }
}

}  // namespace

Buffer find_segments(std::span<const Slot> slots) {
    Buffer buffer;
    BufferHeader header;
    if (slots.size_bytes() < sizeof header) return buffer;
    std::memcpy(&header, slots.data(), sizeof header);
    buffer.is_known = header.magic == KG_BUFFER_MAGIC && header.version == KG_LAYOUT_VERSION &&
                      header.segment_slots >= KG_LEAST_SEGMENT_SLOTS;
    if (!buffer.is_known) return buffer;
    const uint64_t used = std::min<uint64_t>(header.claimed, header.segment_count);
    buffer.refused = header.claimed - used;
    for (uint64_t i = 0; i < used; ++i) {
        const uint64_t begin = header.first_segment + i * header.segment_slots;
        if (begin + header.segment_slots > slots.size()) {
            buffer.damaged += used - i;
            break;
        }
        Segment segment{{}, slots.subspan(begin, header.segment_slots)};
        std::memcpy(&segment.header, segment.slots.data(), sizeof segment.header);
        if (segment.header.magic == KG_SEGMENT_MAGIC)
            buffer.segments.push_back(segment);
        else
            ++buffer.damaged;
    }
    number_launches(buffer.segments);
    return buffer;
}

std::span<const Slot> aligned_slots(std::span<const std::byte> bytes, std::vector<Slot>& copy) {
    const size_t count = bytes.size() / sizeof(Slot);
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(Slot) == 0)
        return {reinterpret_cast<const Slot*>(bytes.data()), count};
    copy.resize(count);
    if (count > 0) std::memcpy(copy.data(), bytes.data(), count * sizeof(Slot));
    return copy;
}

ClockPair claimed(const Segment& segment) {
    return {segment.header.claimed.clock, segment.header.claimed.value};
}

void look_at_clocks(const Segment& segment, RateFinder& rates) {
    rates.begin(claimed(segment));
    SegmentReader reader(segment.slots, segment.header.claimed.sum);
    for (Record record; reader.next(record);)
        if (record.globaltimer != 0) rates.add({record.clock, record.globaltimer});
    rates.end();
}

RateFinder rates_of(const std::vector<Segment>& segments) {
    RateFinder rates;
    for (const Segment& segment : segments) look_at_clocks(segment, rates);
    return rates;
}

std::string block_name(const SegmentHeader& header) {
    std::string name = "block " + std::to_string(header.block);
    if (header.group_count > 1) name += " group " + std::to_string(header.group);
    return name;
}

}  // namespace kinetograph::intra_kernel
