#include "format/perfetto_packets.h"

#include <algorithm>

namespace kinetograph::format::perfetto {

namespace {

// Private to each sequence: counts nanoseconds since its packet before.
constexpr uint64_t difference_clock = clock::first_private;

}  // namespace

void Packets::start_sequence(uint64_t track_uuid) {
    ++sequence_;
    last_ns_ = first_ns_;
    names_.start_sequence();
    categories_.start_sequence();
    annotations_.start_sequence();
    packet([&] {
        message_.number(packet::sequence_flags, packet::state_cleared);
        message_.number(packet::first_on_sequence, 1);
        message_.message(packet::defaults, [&] {
            message_.number(defaults::clock_id, difference_clock);
            message_.message(defaults::track_event, [&] { message_.number(event::track_uuid, track_uuid); });
        });
        message_.message(packet::clock_snapshot, [&] { put_clocks(); });
    });
}

// Our times are wall time, which is what other traces can be lined up with. Every sequence tells the same
// moment: Perfetto wants snapshots of a clock in order. Events before 1970 it would drop, so that a trace
// which has some begins there.
void Packets::put_clocks() {
    const auto first_ns = static_cast<uint64_t>(std::max<int64_t>(first_ns_, 0));
    message_.message(clock_snapshot::clocks, [&] {
        message_.number(clock::id, difference_clock);
        message_.number(clock::timestamp, first_ns);
        message_.number(clock::is_incremental, 1);
        message_.number(clock::unit_ns, 1);
    });
    message_.message(clock_snapshot::clocks, [&] {
        message_.number(clock::id, clock::realtime);
        message_.number(clock::timestamp, first_ns);
    });
    message_.number(clock_snapshot::primary, clock::realtime);
}

void Packets::put_name(uint32_t name) {
    const SequenceIds::Id id = names_.of(name);
    if (id.is_new) {
        write_entry(interned_, interned::names, id.iid, valid_utf8(trace_.strings[name], scratch_));
    }
    message_.number(event::name_iid, id.iid);
}

void Packets::put_category(uint8_t category) {
    const std::string& text = trace_.categories[category];
    if (text.empty()) return;
    const SequenceIds::Id id = categories_.of(category);
    if (id.is_new) write_entry(interned_, interned::categories, id.iid, valid_utf8(text, scratch_));
    message_.number(event::category_iids, id.iid);
}

}  // namespace kinetograph::format::perfetto
