// Profiler buffers as a kernel would leave them, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "intra_kernel/layout.h"

namespace kinetograph::test {

class ProfilerBuffer {
public:
    using Words = uint32_t[4];

    ProfilerBuffer(uint32_t segment_slots, uint32_t segment_count)
        : segment_slots_(segment_slots),
          segment_count_(segment_count),
          words_((KG_HEADER_SLOTS + size_t(segment_slots) * segment_count) * 4) {
        set(0, {KG_BUFFER_MAGIC, KG_LAYOUT_VERSION, segment_slots, segment_count});
        set(1, {KG_HEADER_SLOTS, 0, 0, 0});
    }

    // Later records belong to this segment.
    void claim(uint32_t block, uint32_t sm, uint64_t time_ns, uint32_t clock = 0, uint32_t group = 0,
               uint32_t groups = 1, uint32_t blocks = 64) {
        const uint32_t number = words_[6]++;
        has_room_ = number < segment_count_;
        begin_ = KG_HEADER_SLOTS + size_t(number) * segment_slots_;
        at_ = begin_ + 1;
        sum_ = 77 * (number + 1);
        if (!has_room_) return;
        set(begin_, {KG_SEGMENT_MAGIC, block, blocks, group | groups << 8 | sm << 16});
        set(at_, {sum_, clock, uint32_t(time_ns), uint32_t(time_ns >> 32)});
    }
    void start(uint32_t task, uint64_t time_ns, uint32_t clock) { add(KG_KIND_START, task, clock, time_ns); }
    void end(uint32_t task, uint32_t clock, uint64_t time_ns = 0) { add(KG_KIND_END, task, clock, time_ns); }
    void mark(uint32_t task, uint64_t time_ns, uint32_t clock) { add(KG_KIND_INSTANT, task, clock, time_ns); }
    void payload(uint32_t type, uint64_t value) { add(KG_KIND_PAYLOAD, type, 0, value); }

    // From now on like a kernel that looks only here whether it has come to the tail.
    void begin_row() {
        looks_each_time_ = false;
        at_ = std::min(at_, begin_ + segment_slots_ - 1 - KG_TAIL_SLOTS - 1);
    }

    uint32_t* slot(size_t index) { return &words_[index * 4]; }
    uint32_t* record(size_t index) { return slot(begin_ + KG_SEGMENT_HEADER_SLOTS + index); }
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }

private:
    void set(size_t index, const Words& words) { std::memcpy(slot(index), words, sizeof words); }
    void add(uint32_t kind, uint32_t task, uint32_t clock, uint64_t value) {
        if (!has_room_) return;
        if (!looks_each_time_ || at_ + 2 < begin_ + segment_slots_) ++at_;
        sum_ += KG_SUM_STEP + (kind | task << 2);
        set(at_, {sum_, clock, uint32_t(value), uint32_t(value >> 32)});
    }

    uint32_t segment_slots_, segment_count_;
    std::vector<uint32_t> words_;
    size_t begin_ = 0, at_ = 0;
    uint32_t sum_ = 0;
    bool has_room_ = false, looks_each_time_ = true;
};

}  // namespace kinetograph::test
