#include "intra_kernel/buffer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

namespace kinetograph::intra_kernel {

namespace {

struct BufferHeader {
    uint32_t magic, version, segment_slots, segment_count;
    uint32_t first_segment, nothing;
    uint64_t claimed;
    uint64_t clock_khz;
    uint64_t unused[3];
};
static_assert(sizeof(BufferHeader) == KG_HEADER_SLOTS * KG_SLOT_BYTES);
static_assert(offsetof(BufferHeader, claimed) == KG_CLAIMED_OFFSET);

bool is_plausible_khz(uint64_t khz) {
    return khz >= 100'000 && khz <= 10'000'000;
}

// A block that comes again is one of the next launch of its grid; launches count in the order they began.
void number_launches(std::vector<Segment>& segments) {
    std::map<std::tuple<uint32_t, uint8_t, uint32_t, uint8_t>, uint32_t> seen;
    std::map<std::tuple<uint32_t, uint8_t, uint32_t>, uint32_t> launches;
    for (Segment& segment : segments) {
        const SegmentHeader& header = segment.header;
        const uint32_t before = seen[{header.block_count, header.group_count, header.block, header.group}]++;
        const std::tuple launch{header.block_count, header.group_count, before};
        segment.launch = launches.try_emplace(launch, uint32_t(launches.size())).first->second;
    }
}

// By segments that followed each other on one SM, whose clock runs on between them: the nearest two of which
// the globaltimer tells well how far they are apart.
class Neighbours {
public:
    explicit Neighbours(double told_rate) : told_rate_(told_rate) {}

    void add(uint16_t sm, ClockPair claimed) {
        const auto [before, is_first] = last_.try_emplace(sm, claimed);
        if (is_first) return;
        look_at(std::exchange(before->second, claimed), claimed);
    }
    double rate() const { return rate_; }

private:
    static constexpr uint64_t least_ns = 100'000, most_ns = 1'000'000'000;

    void look_at(ClockPair from, ClockPair to) {
        if (to.globaltimer < from.globaltimer + least_ns || to.globaltimer - from.globaltimer >= nearest_ns_)
            return;
        const uint64_t apart_ns = to.globaltimer - from.globaltimer;
        const double rate = double(uint32_t(to.clock - from.clock)) / double(apart_ns);
        if (!is_plausible(rate)) return;
        nearest_ns_ = apart_ns;
        rate_ = rate;
    }
    // The device tells its fastest clock; an SM that slept in between has counted less.
    bool is_plausible(double rate) const {
        return told_rate_ > 0 ? rate > told_rate_ / 2 && rate < told_rate_ * 1.05 : rate > 0.1 && rate < 4;
    }

    double told_rate_, rate_ = 0;
    uint64_t nearest_ns_ = most_ns;
    std::map<uint16_t, ClockPair> last_;
};

}  // namespace

Buffer find_segments(std::span<const Slot> slots) {
    Buffer buffer;
    BufferHeader header;
    if (slots.size_bytes() < sizeof header) return buffer;
    std::memcpy(&header, slots.data(), sizeof header);
    buffer.is_known = header.magic == KG_BUFFER_MAGIC && header.version == KG_LAYOUT_VERSION &&
                      header.segment_slots >= KG_LEAST_SEGMENT_SLOTS;
    if (!buffer.is_known) return buffer;
    if (is_plausible_khz(header.clock_khz)) buffer.clock_rate = double(header.clock_khz) / 1e6;
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
}

RateFinder rates_of(const Buffer& buffer) {
    Neighbours neighbours(buffer.clock_rate);
    for (const Segment& segment : buffer.segments) neighbours.add(segment.header.sm, claimed(segment));
    RateFinder rates(neighbours.rate(), buffer.clock_rate);
    for (const Segment& segment : buffer.segments) {
        look_at_clocks(segment, rates);
        rates.end();
    }
    return rates;
}

std::string block_name(const SegmentHeader& header) {
    std::string name = "block " + std::to_string(header.block);
    if (header.group_count > 1) name += " group " + std::to_string(header.group);
    return name;
}

}  // namespace kinetograph::intra_kernel
