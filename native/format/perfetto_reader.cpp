// Packet by packet: what they tell of tracks, names and clocks is kept, events become rows.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/input_window.h"
#include "format/json_cursor.h"
#include "format/json_number.h"
#include "format/json_pieces.h"
#include "format/json_text.h"
#include "format/perfetto.h"
#include "format/perfetto_counters.h"
#include "format/perfetto_links.h"
#include "format/perfetto_packet_reader.h"
#include "format/perfetto_places.h"
#include "format/perfetto_sequence.h"
#include "format/perfetto_values.h"
#include "format/trace_filler.h"

namespace kinetograph::format {

namespace perfetto {

namespace {

using trace::EventKind;

constexpr size_t most_events = INT32_MAX;  // rows are 32-bit numbers in links

struct Packet {
    uint64_t timestamp = 0, sequence = 0, flags = 0;
    std::optional<uint64_t> clock;
    std::optional<ProtoField> event, descriptor, snapshot, defaults, interned;
};

// A value of a counter.
struct Series {
    std::string json;
    std::optional<uint64_t> track;
    uint32_t tracks_field = 0;  // where its track is told
};

// The parts of a TrackEvent that we know.
struct TrackEvent {
    uint64_t type = 0;
    std::optional<uint64_t> track;
    std::string name, category;
    std::vector<Series> series;  // of a counter; the first one is on the track of the event
    std::vector<Annotation> annotations;
};

class Reader {
public:
    Reader(const Source& source, const trace::Storage& storage)
        : packets_(source), filler_(storage), places_(filler_) {}

    trace::Trace read() {
        while (packets_.next()) read_packet(packets_.packet(), packets_.offset());
        if (packets_.is_cut())
            note_missing_end();
        else
            note_missing_events();
        return finish();
    }

private:
    void note_missing_end();
    void note_missing_events();
    void read_packet(std::string_view bytes, size_t offset);
    void take(const ProtoField& field, Packet& packet);
    Sequence& sequence_of(uint64_t id);

    TrackEvent parse(const ProtoField& message);
    void parse_field(const ProtoField& field, TrackEvent& event);
    static void give_track(TrackEvent& event, const ProtoField& field);
    void read_event(const ProtoField& message, int64_t time_ns);
    void add_counter(const TrackEvent& event, uint64_t track, int64_t time_ns);
    void end_span(const TrackEvent& event, uint64_t track, int64_t time_ns);
    void add_row(const TrackEvent& event, const Place& place, int64_t time_ns, EventKind kind);
    std::string series_of(const TrackEvent& event, uint64_t track) const;

    void read_about(const TrackEvent& event, size_t offset);
    void read_name_rows(const std::string& text, size_t offset);
    void read_notes(std::string_view list);
    void read_metadata(std::string_view object);
    trace::Trace finish();

    PacketReader packets_;
    TraceFiller filler_;
    Places places_;
    Clocks clocks_;
    std::unordered_map<uint64_t, Sequence> sequences_;
    uint64_t sequence_id_ = 0;
    Sequence* sequence_ = nullptr;
    std::unordered_map<uint64_t, std::vector<uint32_t>> open_;  // rows, by track
    std::string members_;
    size_t events_ = 0;
    int64_t told_events_ = 0;
    bool is_ours_ = false;
    std::optional<std::string> odd_links_;
    int64_t base_ns_ = 0, shift_ns_ = 0, window_start_ns_ = 0, window_end_ns_ = 0;
};

// Whoever wrote it died, or it was not copied as a whole.
void Reader::note_missing_end() {
    if (events_ == 0) {
        throw ParseError(packets_.offset(), "a packet that is longer than the rest of the file");
    }
    filler_.add_note("truncated", "the file ends within the packet at byte " +
                                      std::to_string(packets_.offset()) + ", after " +
                                      std::to_string(events_) + " events: what came behind is missing");
}

// Cut between two packets.
void Reader::note_missing_events() {
    const auto read = static_cast<int64_t>(filler_.trace().size());
    if (read < told_events_)
        filler_.add_note("truncated", "the file has " + std::to_string(read) + " of the " +
                                          std::to_string(told_events_) +
                                          " events that were written: what came behind is missing");
}

Sequence& Reader::sequence_of(uint64_t id) {
    if (sequence_ == nullptr || id != sequence_id_) sequence_ = &sequences_[id];
    sequence_id_ = id;
    return *sequence_;
}

void Reader::take(const ProtoField& field, Packet& packet) {
    switch (field.number) {
        case packet::timestamp:
            packet.timestamp = field.value;
            break;
        case packet::sequence_id:
            packet.sequence = field.value;
            break;
        case packet::sequence_flags:
            packet.flags = field.value;
            break;
        case packet::clock_id:
            packet.clock = field.value;
            break;
        case packet::track_event:
            packet.event = field;
            break;
        case packet::track_descriptor:
            packet.descriptor = field;
            break;
        case packet::clock_snapshot:
            packet.snapshot = field;
            break;
        case packet::defaults:
            packet.defaults = field;
            break;
        case packet::interned_data:
            packet.interned = field;
            break;
        case packet::compressed:
            filler_.skip("in compressed packets");
            break;
        default:
            // Marks, ids and other numbers stand beside the data of a packet.
            if (!field.is_number()) filler_.skip("of packets with field " + std::to_string(field.number));
    }
}

void Reader::read_packet(std::string_view bytes, size_t offset) {
    Packet packet;
    ProtoReader reader(bytes, offset);
    for (ProtoField field; reader.next(field);) take(field, packet);
    Sequence& sequence = sequence_of(packet.sequence);
    if (packet.flags & packet::state_cleared) sequence.clear_state();
    if (packet.interned) sequence.read_interned(*packet.interned);
    if (packet.defaults) sequence.read_defaults(*packet.defaults);
    if (packet.snapshot) sequence.read_clocks(*packet.snapshot, clocks_);
    if (packet.descriptor) places_.describe(*packet.descriptor);
    if (!packet.event) return;
    const int64_t time_ns = sequence.time_of(packet.timestamp, packet.clock, clocks_);
    const auto shifted =
        static_cast<int64_t>(static_cast<uint64_t>(time_ns) + static_cast<uint64_t>(shift_ns_));
    if (shifted > latest_ns || shifted < -latest_ns) {
        throw ParseError(offset, "a time that is out of range");
    }
    if (++events_ > most_events) throw ParseError(offset, "more than 2^31 events");
    read_event(*packet.event, shifted);
}

void Reader::parse_field(const ProtoField& field, TrackEvent& event) {
    const auto interned = [](const InternedTexts& texts, uint64_t iid) {
        const std::string* text = texts.find(iid);
        return text == nullptr ? std::string("[unknown]") : *text;
    };
    switch (field.number) {
        case event::type:
            event.type = field.value;
            break;
        case event::track_uuid:
            event.track = field.value;
            break;
        case event::name_iid:
            event.name = interned(sequence_->names, field.value);
            break;
        case event::name:
            event.name = text_of(field);
            break;
        case event::category_iids:
            event.category = interned(sequence_->categories, field.value);
            break;
        case event::categories:
            event.category = text_of(field);
            break;
        case event::annotations:
            event.annotations.push_back(read_annotation(field, *sequence_));
            break;
        case event::counter_value:
            event.series.insert(event.series.begin(),
                                {std::to_string(static_cast<int64_t>(field.value)), {}});
            break;
        case event::real_counter_value:
            event.series.insert(event.series.begin(), {json_of(field.real()), {}});
            break;
        case event::extra_values:
            event.series.push_back(
                {std::to_string(static_cast<int64_t>(field.value)), {}, event::extra_tracks});
            break;
        case event::extra_real_values:
            event.series.push_back({json_of(field.real()), {}, event::extra_real_tracks});
            break;
        case event::extra_tracks:
        case event::extra_real_tracks:
            give_track(event, field);
            break;
        default:
            break;
    }
}

// Tracks are told in the order of their values, but whole numbers and others apart.
void Reader::give_track(TrackEvent& event, const ProtoField& field) {
    for (Series& series : event.series) {
        if (series.tracks_field != field.number || series.track) continue;
        series.track = field.value;
        return;
    }
}

TrackEvent Reader::parse(const ProtoField& message) {
    TrackEvent event;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) parse_field(field, event);
    return event;
}

// Others may have a track, and events, that are called like us.
bool is_about(const TrackEvent& event) {
    return event.name == about::track &&
           std::any_of(event.annotations.begin(), event.annotations.end(),
                       [](const Annotation& annotation) { return annotation.name == about::version; });
}

void Reader::read_event(const ProtoField& message, int64_t time_ns) {
    const TrackEvent event = parse(message);
    const uint64_t track = event.track.value_or(sequence_->default_track);
    switch (event.type) {
        case event::begin:
            add_row(event, places_.of(track), time_ns, EventKind::span);
            open_[track].push_back(static_cast<uint32_t>(filler_.trace().size() - 1));
            break;
        case event::end:
            end_span(event, track, time_ns);
            break;
        case event::instant:
            if (!is_ours_ && places_.is_about(track) && is_about(event)) {
                read_about(event, message.offset);
                break;
            }
            add_row(event, places_.of(track), time_ns, EventKind::instant);
            break;
        case event::counter:
            add_counter(event, track, time_ns);
            break;
        default:
            filler_.skip("of a kind that is not read");
    }
}

void Reader::add_row(const TrackEvent& event, const Place& place, int64_t time_ns, EventKind kind) {
    ParsedEvent row;
    row.phase = kind == EventKind::counter ? 'C' : 'X';
    row.name.inside = event.name;
    row.category.inside = event.category;
    row.pid = place.pid;
    row.tid = place.tid;
    row.start_ns = time_ns;
    members_.clear();
    for (const Annotation& annotation : event.annotations) {
        if (kind != EventKind::counter && take_argument(row, annotation.name, annotation.json)) continue;
        if (!members_.empty()) members_ += ',';
        members_ += quoted(annotation.name) + ":" + annotation.json;
    }
    row.members = members_;
    filler_.add_event(row, kind);
}

void Reader::end_span(const TrackEvent& event, uint64_t track, int64_t time_ns) {
    std::vector<uint32_t>& open = open_[track];
    if (open.empty()) return filler_.skip("that end what did not begin");
    std::string members;
    ParsedEvent ignored;
    for (const Annotation& annotation : event.annotations) {
        if (take_argument(ignored, annotation.name, annotation.json)) continue;
        if (!members.empty()) members += ',';
        members += quoted(annotation.name) + ":" + annotation.json;
    }
    filler_.end_span(open.back(), time_ns, members);
    open.pop_back();
}

// A counter of ours is called as its event; the rest of the name of its track is the series.
std::string Reader::series_of(const TrackEvent& event, uint64_t track) const {
    const std::string& name = places_.name_of(track);
    const bool has_series = is_ours_ && name.size() > event.name.size() && name.starts_with(event.name) &&
                            name[event.name.size()] == ' ';
    return has_series ? name.substr(event.name.size() + 1) : std::string(usual_series);
}

void Reader::add_counter(const TrackEvent& event, uint64_t track, int64_t time_ns) {
    TrackEvent counter;
    counter.category = event.category;
    counter.name = is_ours_ ? event.name : places_.name_of(track);
    for (const Series& series : event.series) {
        const bool has_track = series.track || series.tracks_field == 0;
        if (!has_track) continue;
        counter.annotations.push_back({series_of(event, series.track.value_or(track)), series.json, ""});
    }
    // What a counter cannot hold, or not exactly.
    for (const Annotation& exact : event.annotations) {
        const auto same_name = [&](const Annotation& known) { return known.name == exact.name; };
        const auto known = std::find_if(counter.annotations.begin(), counter.annotations.end(), same_name);
        if (known == counter.annotations.end()) {
            counter.annotations.push_back(exact);
        } else {
            known->json = exact.json;
        }
    }
    // On the thread that told it, where the sequence is a thread's.
    const uint64_t place = is_ours_ ? sequence_->default_track : track;
    add_row(counter, places_.of(place), time_ns, EventKind::counter);
}

void Reader::read_notes(std::string_view list) {
    each_piece(inside(list), [this](std::string_view note) {
        std::string kind, text;
        if (!note.starts_with('{')) return;
        each_piece(inside(note), [&](std::string_view piece) {
            const Member member = as_member(piece);
            if (!member.value.starts_with('"')) return;
            if (member.key == "kind") append_unescaped(kind, inside(member.value));
            if (member.key == "text") append_unescaped(text, inside(member.value));
        });
        filler_.add_note(std::move(kind), std::move(text));
    });
}

void Reader::read_metadata(std::string_view object) {
    each_piece(inside(object), [this](std::string_view piece) {
        const Member member = as_member(piece);
        std::string key;
        append_unescaped(key, member.key);
        filler_.set_metadata(std::move(key), std::string(member.value));
    });
}

void Reader::read_name_rows(const std::string& text, size_t offset) {
    std::string_view rest(text);
    const Source source = [&rest] { return std::exchange(rest, {}); };
    InputWindow window(source);
    JsonCursor cursor(window);
    EventParser parser(cursor);
    try {
        cursor.whole([&] { cursor.pass('['); });
        if (cursor.whole([&] { return cursor.pass_if(']'); })) return;
        do {
            const ParsedEvent& event = cursor.whole([&]() -> const ParsedEvent& { return parser.parse(); });
            if (event.phase == 'M') filler_.add(event);
        } while (cursor.whole([&] { return cursor.pass_if(','); }));
    } catch (const ParseError& error) {
        throw ParseError(offset, std::string("the names of its tracks: ") + error.what());
    }
}

void Reader::read_about(const TrackEvent& event, size_t offset) {
    is_ours_ = true;
    filler_.trust_track_arguments();
    for (const Annotation& annotation : event.annotations) {
        const std::string& name = annotation.name;
        const std::string& json = annotation.json;
        const int64_t number = to_int64(json).value_or(0);
        const auto time = [&](int64_t& place) {
            if (number > latest_ns || number < -latest_ns) {
                throw ParseError(offset, "a time that is out of range");
            }
            place = number;
        };
        if (name == about::version && number > about::newest_version) {
            throw ParseError(offset, "written by a newer version, whose files this one does not know");
        }
        if (name == about::notes && json.starts_with('[')) read_notes(json);
        if (name == about::metadata && json.starts_with('{')) read_metadata(json);
        if (name == about::devices) filler_.set_device_properties(json);
        if (name == about::rows) read_name_rows(annotation.text, offset);
        if (name == about::events) told_events_ = number;
        if (name == about::base_time) time(base_ns_);
        if (name == about::shift) time(shift_ns_);
        if (name == about::window_start) time(window_start_ns_);
        if (name == about::window_end) time(window_end_ns_);
        if (name == about::links) odd_links_ = annotation.text;
    }
    places_.number_tracks();
}

trace::Trace Reader::finish() {
    for (const auto& [track, rows] : std::map(open_.begin(), open_.end())) {
        for (const uint32_t row : rows) filler_.leave_open(row);
    }
    filler_.finish();
    trace::Trace trace = filler_.take();
    trace.base_time_ns = base_ns_;
    if (window_end_ns_ != 0 && window_end_ns_ >= window_start_ns_) {
        trace.window_start_ns = window_start_ns_;
        trace.window_end_ns = window_end_ns_;
    }
    if (odd_links_) restore_links(trace, *odd_links_);
    return trace;
}

}  // namespace

}  // namespace perfetto

trace::Trace read_perfetto(const Source& source, const trace::Storage& storage) {
    return perfetto::Reader(source, storage).read();
}

}  // namespace kinetograph::format
