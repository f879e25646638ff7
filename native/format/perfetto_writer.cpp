// The events of a trace as Perfetto's packets, track by track.
#include <string>

#include "format/json_number.h"
#include "format/json_pieces.h"
#include "format/json_text.h"
#include "format/kineto_words.h"
#include "format/lanes.h"
#include "format/name_rows.h"
#include "format/perfetto.h"
#include "format/perfetto_arrows.h"
#include "format/perfetto_counters.h"
#include "format/perfetto_links.h"
#include "format/perfetto_packets.h"
#include "format/perfetto_tracks.h"

namespace kinetograph::format {

namespace perfetto {

namespace {

using trace::EventKind;

// Perfetto gives ends to the wrong spans where they nest deeper than 512.
constexpr size_t deepest_nesting = 500;

class Writer {
public:
    Writer(const trace::Trace& trace, Sink& sink)
        : trace_(trace),
          arrows_(trace),
          first_ns_(trace::first_start_ns(trace)),
          packets_(trace, sink, first_ns_),
          tracks_(trace, packets_),
          counters_(trace, packets_, tracks_),
          out_(packets_.message()) {}

    void write() {
        packets_.start_sequence(tracks_.about());
        tracks_.describe_all();
        write_about();
        trace::each_row(trace_, [this](size_t row) {
            if (row == 0 || trace_.track[row] != trace_.track[row - 1]) enter_track(trace_.track[row]);
            write_event(row);
        });
        close_until(INT64_MAX);
        packets_.flush();
    }

private:
    void write_about();
    std::string name_rows() const;
    std::string notes() const;
    std::string metadata() const;

    void enter_track(uint32_t track) {
        close_until(INT64_MAX);
        lanes_.enter_track();
        track_ = track;
        packets_.start_sequence(tracks_.of_track(track));
    }
    void close_until(int64_t time_ns) {
        lanes_.close_until(time_ns, [this](size_t lane, int64_t end_ns) { write_end(lane, end_ns); });
    }
    void write_end(size_t lane, int64_t end_ns) {
        const uint64_t lane_uuid = lane > 0 ? tracks_.of_lane(track_, lane) : 0;
        packets_.event(end_ns, [&] {
            out_.number(event::type, event::end);
            if (lane > 0) out_.number(event::track_uuid, lane_uuid);
        });
    }

    void write_event(size_t row);
    void put_head(size_t row, uint64_t type);
    void put_column_args(size_t row);
    void put_flows(size_t row);

    const trace::Trace& trace_;
    const Arrows arrows_;
    const int64_t first_ns_;
    Packets packets_;
    Tracks tracks_;
    Counters counters_;
    ProtoBuffer& out_;
    Lanes lanes_{deepest_nesting};
    uint32_t track_ = 0;
    size_t next_source_ = 0, next_target_ = 0;
};

std::string Writer::name_rows() const {
    const NameRows names(trace_, "0");
    std::string rows;
    const auto add = [&rows](const std::string& more) {
        rows += rows.empty() ? "[" : ",\n";
        rows += more;
    };
    for (const trace::Process& process : trace_.processes) add(names.of_process(process));
    for (const trace::Track& track : trace_.tracks) add(names.of_track(track, 0, track.tid));
    return rows.empty() ? "[]" : rows + "]";
}

std::string Writer::notes() const {
    std::string list;
    for (const trace::Note& note : trace_.notes) {
        list += list.empty() ? "[" : ",";
        list += "{\"kind\":" + quoted(note.kind) + ",\"text\":" + quoted(note.text) + "}";
    }
    return list.empty() ? "[]" : list + "]";
}

std::string Writer::metadata() const {
    std::string members;
    for (const auto& [key, value] : trace_.metadata) {
        members += members.empty() ? "{" : ",";
        members += quoted(key) + ":" + value;
    }
    return members.empty() ? "{}" : members + "}";
}

// What the JSON has around its events.
void Writer::write_about() {
    Annotations& args = packets_.annotations();
    const bool has_window = trace_.window_end_ns != 0;
    packets_.event(has_window ? trace_.window_start_ns : first_ns_, [&] {
        out_.number(event::type, event::instant);
        out_.text(event::name, about::track);
        args.integer(out_, event::annotations, about::version, about::newest_version);
        args.integer(out_, event::annotations, about::events, int64_t(trace_.size()));
        args.json(out_, event::annotations, about::notes, notes());
        args.json(out_, event::annotations, about::metadata, metadata());
        args.json(out_, event::annotations, about::devices, trace_.device_properties);
        if (has_window) {
            args.integer(out_, event::annotations, about::window_start, trace_.window_start_ns);
            args.integer(out_, event::annotations, about::window_end, trace_.window_end_ns);
        }
        if (first_ns_ < 0) args.integer(out_, event::annotations, about::shift, first_ns_);
        args.integer(out_, event::annotations, about::base_time, trace_.base_time_ns);
        if (!trace_.link.empty()) args.text(out_, event::annotations, about::links, odd_links(trace_));
        args.text(out_, event::annotations, about::rows, name_rows());
    });
}

void Writer::put_head(size_t row, uint64_t type) {
    out_.number(event::type, type);
    packets_.put_category(trace_.category[row]);
    packets_.put_name(trace_.name[row]);
}

void Writer::write_event(size_t row) {
    const auto kind = static_cast<EventKind>(trace_.kind[row]);
    const int64_t start_ns = trace_.start_ns[row];
    close_until(start_ns);
    if (kind == EventKind::counter) return counters_.write(row);
    const bool is_span = kind == EventKind::span;
    const size_t lane = is_span ? lanes_.lane_of(start_ns, trace_.end_ns(row)) : 0;
    const uint64_t lane_uuid = lane > 0 ? tracks_.of_lane(track_, lane) : 0;
    packets_.event(start_ns, [&] {
        put_head(row, is_span ? event::begin : event::instant);
        if (lane > 0) out_.number(event::track_uuid, lane_uuid);
        put_column_args(row);
        packets_.annotations().shared_members(out_, event::annotations, trace_.args_of(row));
        put_flows(row);
    });
}

void Writer::put_column_args(size_t row) {
    Annotations& args = packets_.annotations();
    const auto put_integer = [&](std::string_view name, int64_t value) {
        args.integer(out_, event::annotations, name, value);
    };
    if (!trace_.sequence.empty() && trace_.sequence[row] >= 0) {
        put_integer(argument::sequence, trace_.sequence[row]);
    }
    if (!trace_.record_function.empty() && trace_.record_function[row] != 0) {
        put_integer(argument::record_function_id, trace_.record_function[row]);
    }
    if (!trace_.correlation.empty() && trace_.correlation[row] != 0) {
        put_integer(argument::correlation, trace_.correlation[row]);
    }
    if (trace_.scope[row] != usual_scope(trace_.category[row])) {
        put_integer(argument::scope, trace_.scope[row]);
    }
    const uint8_t flags = trace_.flags[row];
    if (flags & trace::event_async) args.boolean(out_, event::annotations, argument::async, true);
    if (flags & trace::event_resumed) args.boolean(out_, event::annotations, argument::resumed, true);
    if (flags & trace::event_unfinished) args.boolean(out_, event::annotations, argument::finished, false);
}

void Writer::put_flows(size_t row) {
    const auto put = [&](const std::vector<FlowEnd>& ends, size_t& next, uint32_t field) {
        for (; next < ends.size() && ends[next].row == row; ++next) out_.fixed64(field, ends[next].id);
    };
    put(arrows_.sources(), next_source_, event::flow_ids);
    put(arrows_.targets(), next_target_, event::ended_flow_ids);
}

}  // namespace

}  // namespace perfetto

void write_perfetto(const trace::Trace& trace, Sink& sink) {
    perfetto::Writer(trace, sink).write();
}

}  // namespace kinetograph::format
