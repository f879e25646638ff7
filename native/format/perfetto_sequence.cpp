#include "format/perfetto_sequence.h"

#include "format/json_text.h"

namespace kinetograph::format::perfetto {

namespace {

// What a file holds may be any number: this wraps, and who uses a time checks that it is in range.
int64_t sum(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t difference(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

struct ClockReading {
    uint64_t id = 0;
    uint64_t timestamp = 0;
    uint64_t unit_ns = 1;
    bool is_incremental = false;

    int64_t ns() const { return static_cast<int64_t>(timestamp * unit_ns); }
    bool is_private() const { return id >= clock::first_private && id <= clock::last_private; }
};

ClockReading read_clock(const ProtoField& message) {
    ClockReading reading;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == clock::id) reading.id = field.value;
        if (field.number == clock::timestamp) reading.timestamp = field.value;
        if (field.number == clock::is_incremental) reading.is_incremental = field.value != 0;
        if (field.number == clock::unit_ns) reading.unit_ns = field.value;
    }
    return reading;
}

void read_entry(const ProtoField& message, InternedTexts& texts) {
    uint64_t iid = 0;
    std::string text;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == interned::iid) iid = field.value;
        if (field.number == interned::text) text = text_of(field);
    }
    texts.add(iid, std::move(text));
}

}  // namespace

std::string text_of(const ProtoField& field) {
    if (is_utf8(field.bytes)) return std::string(field.bytes);
    std::string text;
    append_utf8(text, field.bytes);
    return text;
}

void InternedTexts::add(uint64_t iid, std::string text) {
    if (iid >= dense_.size() + widest_gap) {
        sparse_[iid] = std::move(text);
        return;
    }
    if (iid >= dense_.size()) dense_.resize(iid + 1);
    dense_[iid] = std::move(text);
}

const std::string* InternedTexts::find(uint64_t iid) const {
    if (iid < dense_.size() && dense_[iid]) return &*dense_[iid];
    const auto found = sparse_.find(iid);
    return found == sparse_.end() ? nullptr : &found->second;
}

int64_t Clocks::offset_of(uint64_t clock) const {
    const auto found = offsets_.find(clock);
    return found == offsets_.end() ? 0 : found->second;
}

void Sequence::clear_state() {
    names.clear();
    categories.clear();
    annotation_names.clear();
    strings.clear();
    default_clock = default_track = 0;
}

void Sequence::read_interned(const ProtoField& message) {
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.is_number()) continue;
        if (field.number == interned::categories) read_entry(field, categories);
        if (field.number == interned::names) read_entry(field, names);
        if (field.number == interned::annotation_names) read_entry(field, annotation_names);
        if (field.number == interned::annotation_strings) read_entry(field, strings);
    }
}

void Sequence::read_defaults(const ProtoField& message) {
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == defaults::clock_id && field.is_number()) default_clock = field.value;
        if (field.number != defaults::track_event || field.is_number()) continue;
        ProtoReader event(field);
        for (ProtoField inner; event.next(inner);) {
            if (inner.number == event::track_uuid) default_track = inner.value;
        }
    }
}

// All readings of a snapshot are of one moment. Its wall time is told by the realtime clock, else by what is
// known of another one.
void Sequence::read_clocks(const ProtoField& message, Clocks& shared) {
    std::vector<ClockReading> readings;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == clock_snapshot::clocks && !field.is_number()) {
            readings.push_back(read_clock(field));
        }
    }
    std::optional<int64_t> wall_ns;
    for (const ClockReading& reading : readings) {
        if (reading.is_private()) continue;
        if (reading.id == clock::realtime || !wall_ns) {
            wall_ns = sum(reading.ns(), shared.offset_of(reading.id));
        }
    }
    for (const ClockReading& reading : readings) {
        const int64_t offset = difference(wall_ns.value_or(reading.ns()), reading.ns());
        if (reading.is_private()) {
            clocks[reading.id] = {reading.is_incremental, reading.unit_ns, reading.ns(), offset};
        } else {
            shared.set(reading.id, offset);
        }
    }
}

int64_t Sequence::time_of(uint64_t timestamp, std::optional<uint64_t> clock_id, const Clocks& shared) {
    const uint64_t id = clock_id.value_or(default_clock != 0 ? default_clock : clock::boottime);
    const auto found = clocks.find(id);
    if (found == clocks.end()) return sum(static_cast<int64_t>(timestamp), shared.offset_of(id));
    SequenceClock& own = found->second;
    const auto ns = static_cast<int64_t>(timestamp * own.unit_ns);
    own.last_ns = own.is_incremental ? sum(own.last_ns, ns) : ns;
    return sum(own.last_ns, own.offset_ns);
}

}  // namespace kinetograph::format::perfetto
