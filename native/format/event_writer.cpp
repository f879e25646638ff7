#include "format/event_writer.h"

#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "format/kineto_words.h"
#include "format/name_rows.h"
#include "trace/event_args.h"

namespace kinetograph::format {

using trace::EventKind;

namespace {

// Enough for every part of an event but its name and its arguments.
constexpr size_t short_parts_bytes = 1024;
constexpr uint64_t first_lane_tid = 1'500'000'000;  // above Linux's thread ids, below 2^31

std::string head(const char* phase, const std::string& category) {
    std::string text = std::string("{\"ph\":\"") + phase + '"';
    if (!category.empty()) text += ",\"cat\":" + quoted(category);
    return text + ",\"name\":";
}

std::string microseconds(int64_t nanoseconds) {
    const int64_t whole = nanoseconds / 1000, rest = std::abs(nanoseconds % 1000);
    std::string text = nanoseconds < 0 && whole == 0 ? "-" : "";
    text += std::to_string(whole) + '.' + std::to_string(1000 + rest).substr(1);
    return text;
}

bool names_overloads(const trace::Trace& trace) {
    return trace.args_text.size() != 0 && memmem(trace.args_text.data(), trace.args_text.size(),
                                                 overload_name.data(), overload_name.size()) != nullptr;
}

// Empty where there is none; nothing that would have to be escaped is a name of torch's.
std::string_view overload_of(const trace::Trace& trace, size_t row) {
    if (trace.kind[row] != uint8_t(EventKind::span)) return {};
    const std::string_view name = trace::string_argument(trace.args_of(row), overload_name);
    return name.find('\\') == name.npos ? name : std::string_view{};
}

}  // namespace

EventWriter::EventWriter(const trace::Trace& trace, Block& out, int64_t base_ns)
    : trace_(trace),
      out_(out),
      base_ns_(base_ns),
      has_overloads_(names_overloads(trace)),
      flows_(trace),
      external_ids_(trace.storage) {
    for (const std::string& category : trace.categories) {
        span_heads_.push_back(head("X", category));
        instant_heads_.push_back(head("i\",\"s\":\"t", category));
        counter_heads_.push_back(head("C", category));
    }
    find_lanes();
    number_owners();
}

void EventWriter::add_place(uint32_t track, std::string tid) {
    const std::string& pid = trace_.processes[trace_.tracks[track].process].pid;
    std::string fragment = ",\"pid\":" + pid + ",\"tid\":" + tid + ",\"ts\":";
    places_[track].push_back({std::move(tid), std::move(fragment)});
}

// Lanes must be known before the first event, since their names come first.
void EventWriter::find_lanes() {
    std::unordered_set<std::string> tids;
    places_.resize(trace_.tracks.size());
    for (uint32_t track = 0; track < trace_.tracks.size(); ++track) {
        tids.insert(trace_.tracks[track].tid);
        add_place(track, trace_.tracks[track].tid);
    }
    uint64_t next_tid = first_lane_tid;
    trace::each_row(trace_, [&](size_t row) {
        const uint32_t track = trace_.track[row];
        if (row > 0 && track != trace_.track[row - 1]) lanes_.enter_track();
        if (trace_.kind[row] != uint8_t(EventKind::span)) return;
        if (lanes_.lane_of(trace_.start_ns[row], trace_.end_ns(row)) < places_[track].size()) return;
        while (tids.contains(std::to_string(next_tid))) ++next_tid;
        add_place(track, std::to_string(next_tid++));
    });
    lanes_.enter_track();
}

void EventWriter::number_owners() {
    if (trace_.link.empty()) return;
    external_ids_.resize(trace_.size());
    uint32_t id = 0;
    trace::each_row(trace_, [&](size_t row) {
        if (owns_external_id(trace_.category[row], trace_.kind[row])) external_ids_[row] = ++id;
    });
}

void EventWriter::put_separator() {
    out_.put_short(first_event_ ? std::string_view("\n") : std::string_view(",\n"));
    first_event_ = false;
}

void EventWriter::write_names(int64_t at_ns) {
    const NameRows names(trace_, microseconds(at_ns - base_ns_));
    const auto write = [this](const std::string& rows) {
        out_.need(2);
        put_separator();
        out_.put(rows);
    };
    for (const trace::Process& process : trace_.processes) write(names.of_process(process));
    for (uint32_t track = 0; track < trace_.tracks.size(); ++track) {
        for (size_t lane = 0; lane < places_[track].size(); ++lane) {
            write(names.of_track(trace_.tracks[track], lane, places_[track][lane].tid));
        }
    }
}

void EventWriter::write_events() {
    trace::each_row(trace_, [this](size_t row) {
        if (row > 0 && trace_.track[row] != trace_.track[row - 1]) enter_track();
        write_event(row);
    });
}

void EventWriter::enter_track() {
    lanes_.enter_track();
    open_calls_.clear();
}

void EventWriter::write_event(size_t row) {
    size_t lane = 0;
    const auto& places = places_[trace_.track[row]];
    const bool is_span = trace_.kind[row] == uint8_t(EventKind::span);
    // A track without a crossing has one place, and finding the lane can be left out.
    if (is_span && places.size() > 1) lane = lanes_.lane_of(trace_.start_ns[row], trace_.end_ns(row));
    const Place& place = places[lane];
    write_head(row, place);
    write_args(row);
    out_.put("}");
    write_flows(row, place);
}

void EventWriter::write_head(size_t row, const Place& place) {
    const auto kind = static_cast<EventKind>(trace_.kind[row]);
    const auto& heads = kind == EventKind::span      ? span_heads_
                        : kind == EventKind::counter ? counter_heads_
                                                     : instant_heads_;
    out_.need(2);
    put_separator();
    out_.put(heads[trace_.category[row]]);
    put_name(row);
    out_.put(place.fragment);
    out_.need(short_parts_bytes);
    out_.put_microseconds(trace_.start_ns[row] - base_ns_);
    if (kind == EventKind::span) {
        out_.put_short(",\"dur\":");
        out_.put_microseconds(trace_.duration_ns[row]);
    }
}

void EventWriter::put_name(size_t row) {
    const std::string_view name = trace_.strings[trace_.name[row]];
    const std::string_view overload = has_overloads_ ? overload_of(trace_, row) : std::string_view{};
    if (overload.empty()) [[likely]]
        return out_.put_quoted(name);
    out_.put_quoted(std::string(name).append(1, '.').append(overload));
}

void EventWriter::put_key(std::string_view key) {
    out_.put_short(first_arg_ ? std::string_view(",\"args\":{\"") : std::string_view(",\""));
    first_arg_ = false;
    out_.put_short(key);
    out_.put_short("\":");
}

void EventWriter::write_args(size_t row) {
    first_arg_ = true;
    // Every argument of a counter is a series to be drawn.
    if (trace_.kind[row] != uint8_t(EventKind::counter)) write_column_args(row);
    const std::string_view own = trace_.args_of(row);
    if (!own.empty()) {
        out_.put(first_arg_ ? ",\"args\":{" : ",");
        out_.put(own);
        first_arg_ = false;
    }
    if (!first_arg_) out_.put("}");
}

void EventWriter::write_column_args(size_t row) {
    const uint8_t category = trace_.category[row];
    if (owns_external_id(category, trace_.kind[row])) {
        put_key(argument::external_id);
        out_.put_number(next_external_id_++);
        put_key(argument::record_function_id);
        out_.put_number(uint64_t(trace_.record_function.empty() ? 0 : trace_.record_function[row]));
        put_key(argument::event_index);
        out_.put_number(static_cast<uint64_t>(row));
    } else if (!trace_.link.empty() && trace_.link[row] >= 0 && external_ids_[trace_.link[row]] != 0) {
        put_key(argument::external_id);
        out_.put_number(static_cast<uint64_t>(external_ids_[trace_.link[row]]));
    }
    if (category == uint8_t(Category::python_function)) write_python_ids(row);
    if (!trace_.sequence.empty() && trace_.sequence[row] >= 0) {
        put_key(argument::sequence);
        out_.put_number(trace_.sequence[row]);
    }
    if (!trace_.correlation.empty() && trace_.correlation[row] != 0) {
        put_key(argument::correlation);
        out_.put_number(trace_.correlation[row]);
    }
    if (trace_.scope[row] != usual_scope(category)) {
        put_key(argument::scope);
        out_.put_number(static_cast<uint64_t>(trace_.scope[row]));
    }
    if (trace_.flags[row] & trace::event_async) {
        put_key(argument::async);
        out_.put_short("true");
    }
    if (trace_.flags[row] & trace::event_resumed) {
        put_key(argument::resumed);
        out_.put_short("true");
    }
    if (trace_.flags[row] & trace::event_unfinished) {
        put_key(argument::finished);
        out_.put_short("false");
    }
}

void EventWriter::write_python_ids(size_t row) {
    const int64_t start = trace_.start_ns[row], end = trace_.end_ns(row);
    const auto encloses = [&](const OpenCall& call) { return call.end_ns > start && call.end_ns >= end; };
    while (!open_calls_.empty() && !encloses(open_calls_.back())) open_calls_.pop_back();
    put_key(argument::python_id);
    out_.put_number(next_python_id_);
    put_key(argument::python_parent_id);
    if (open_calls_.empty()) {
        out_.put_short("null");
    } else {
        out_.put_number(open_calls_.back().id);
    }
    open_calls_.push_back({end, next_python_id_++});
}

void EventWriter::write_flows(size_t row, const Place& place) {
    if (!trace_.correlation.empty() && trace_.correlation[row] != 0) {
        const auto id = static_cast<uint64_t>(trace_.correlation[row]);
        if (flows_.starts_device_work(row)) write_flow('s', id, "ac2g", row, place);
        if (flows_.is_device_work(row)) write_flow('f', id, "ac2g", row, place);
    }
    const auto at = [row](const std::vector<FlowEnd>& ends, size_t next) {
        return next < ends.size() && ends[next].row == row;
    };
    if (at(flows_.forward(), next_forward_)) {
        write_flow('s', flows_.forward()[next_forward_++].id, "fwdbwd", row, place);
    }
    if (at(flows_.backward(), next_backward_)) {
        write_flow('f', flows_.backward()[next_backward_++].id, "fwdbwd", row, place);
    }
}

void EventWriter::write_flow(char phase, uint64_t id, const char* category, size_t row, const Place& place) {
    out_.need(short_parts_bytes);
    put_separator();
    out_.put_short("{\"ph\":\"");
    out_.put_short(phase);
    out_.put_short("\",\"id\":");
    out_.put_number(id);
    out_.put(place.fragment);
    out_.need(short_parts_bytes);
    out_.put_microseconds(trace_.start_ns[row] - base_ns_);
    out_.put_short(",\"cat\":\"");
    out_.put_short(category);
    out_.put_short("\",\"name\":\"");
    out_.put_short(category);
    out_.put_short(phase == 'f' ? std::string_view("\",\"bp\":\"e\"}") : std::string_view("\"}"));
}

void EventWriter::write_window() {
    if (trace_.window_end_ns == 0) return;
    const int64_t start = trace_.window_start_ns - base_ns_, end = trace_.window_end_ns - base_ns_;
    out_.need(short_parts_bytes);
    put_separator();
    out_.put_short("{\"ph\":\"X\",\"cat\":\"Trace\",\"ts\":");
    out_.put_microseconds(start);
    out_.put_short(",\"dur\":");
    out_.put_microseconds(end - start);
    out_.put_short(
        ",\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"name\":\"PyTorch Profiler (0)\",\"args\":{\"Op "
        "count\":");
    out_.put_number(static_cast<uint64_t>(trace_.size()));
    out_.put_short("}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"ts\":");
    out_.put_microseconds(start);
    out_.put_short(",\"pid\":\"Spans\",\"tid\":0,\"args\":{\"sort_index\":536870912}},\n");
    out_.put_short("{\"name\":\"Iteration Start: PyTorch Profiler\",\"ph\":\"i\",\"s\":\"g\",");
    out_.put_short("\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":");
    out_.put_microseconds(start);
    out_.put_short(
        "},\n{\"name\":\"Record Window End\",\"ph\":\"i\",\"s\":\"g\",\"pid\":\"\",\"tid\":\"\",\"ts\":");
    out_.put_microseconds(end);
    out_.put_short("}");
}

}  // namespace kinetograph::format
