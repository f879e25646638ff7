#include "intra_kernel/segment.h"

#include <algorithm>
#include <cmath>

namespace kinetograph::intra_kernel {

namespace {

bool is_one_step(uint32_t step) {
    return step >= KG_SUM_STEP && step < 2 * KG_SUM_STEP;
}

}  // namespace

bool SegmentReader::read_tag(uint32_t& tag) {
    if (at_ + 1 >= slots_.size() || slots_[at_].is_empty()) return false;
    const uint32_t step = slots_[at_].sum - sum_;
    if (is_one_step(step)) {
        tag = step - KG_SUM_STEP;
        sum_ = slots_[at_].sum;
        ++read_;
        tags_ += tag;
        return true;
    }
    if (is_in_tail() && step >= 2 * KG_SUM_STEP)
        lost_ = records_in(step) + records_behind();
    else
        is_torn_ = true;
    return false;
}

// Each of those written over the tail added a step and its tag: about as large as tags were before.
uint64_t SegmentReader::records_in(uint32_t steps) const {
    const double usual_tag = read_ == 0 ? 0 : double(tags_) / double(read_);
    const auto usual = uint64_t(std::llround(steps / (KG_SUM_STEP + usual_tag)));
    const uint64_t fewest = steps / (2 * KG_SUM_STEP) + 1, most = steps / KG_SUM_STEP;
    return std::clamp(usual, fewest, most);
}

size_t SegmentReader::records_behind() const {
    size_t last = at_;
    while (last + 2 < slots_.size() && is_one_step(slots_[last + 1].sum - slots_[last].sum)) ++last;
    return last - at_;
}

bool SegmentReader::next(Record& record) {
    uint32_t tag = 0;
    record.payload_type = KG_PAYLOAD_NONE;
    while (read_tag(tag)) {
        const Slot& slot = slots_[at_++];
        record.kind = tag & 3;
        record.task = tag >> 2;
        if (record.kind == KG_KIND_PAYLOAD) {
            record.payload_type = record.task;
            record.payload = slot.value;
            continue;
        }
        record.clock = slot.clock;
        record.globaltimer = slot.value;
        return true;
    }
    return false;
}

void SegmentReader::count_damage(Damage& damage) const {
    damage.lost += lost_;
    damage.full += lost_ != 0;
    const auto rest = slots_.subspan(std::min(at_, slots_.size()));
    const bool has_more =
        std::any_of(rest.begin(), rest.end(), [](const Slot& slot) { return !slot.is_empty(); });
    damage.torn += is_torn_ || (lost_ == 0 && has_more);
}

}  // namespace kinetograph::intra_kernel
