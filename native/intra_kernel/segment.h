// One segment of a profiler buffer: its header checked, its records one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "intra_kernel/layout.h"

namespace kinetograph::intra_kernel {

struct Slot {
    uint32_t sum, clock;
    uint64_t value;  // globaltimer or payload
    bool is_empty() const { return sum == 0 && clock == 0 && value == 0; }
};
static_assert(sizeof(Slot) == KG_SLOT_BYTES);

struct SegmentHeader {
    uint32_t magic, block, block_count;
    uint8_t group, group_count;
    uint16_t sm;
    Slot claimed;
};
static_assert(sizeof(SegmentHeader) == KG_SEGMENT_HEADER_SLOTS * KG_SLOT_BYTES);

struct Record {
    uint32_t kind, task, clock;
    uint64_t globaltimer;  // 0: has none
    uint32_t payload_type = 0;
    uint64_t payload = 0;
};

// What a walk over records met besides them.
struct Damage {
    uint64_t lost = 0;  // found no slot; off by a percent where many were lost
    uint64_t full = 0;  // segments these would have had to go into
    uint64_t torn = 0;  // segments with something behind the first slot that makes no sense
};

// Does not own the slots. Records come in the order they were made, until an empty or a senseless slot.
class SegmentReader {
public:
    SegmentReader(std::span<const Slot> slots, uint32_t first_sum) : slots_(slots), sum_(first_sum) {}

    bool next(Record& record);
    // After the last record.
    void count_damage(Damage& damage) const;

private:
    // The tag of the slot at `at_`; false when there is none.
    bool read_tag(uint32_t& tag);
    bool is_in_tail() const { return at_ + 1 + KG_TAIL_SLOTS >= slots_.size(); }
    // That made the sum grow so much.
    uint64_t records_in(uint32_t steps) const;
    // Those that were written over the tail in a row with the one at `at_`.
    size_t records_behind() const;

    std::span<const Slot> slots_;
    size_t at_ = KG_SEGMENT_HEADER_SLOTS;
    uint32_t sum_;
    uint64_t read_ = 0, tags_ = 0;  // their sum
    uint64_t lost_ = 0;
    bool is_torn_ = false;
};

}  // namespace kinetograph::intra_kernel
