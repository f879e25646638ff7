#include "trace/row_writer.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "trace/event_filter.h"

namespace kinetograph::trace {

namespace {

using record::Record;
using record::RecordKind;

constexpr std::string_view shape_members[] = {"Input Dims", "Input Strides", "Input type"};

EventKind event_kind(RecordKind kind) {
    switch (kind) {
        case RecordKind::instant:
            return EventKind::instant;
        case RecordKind::counter:
            return EventKind::counter;
        case RecordKind::memory:
            return EventKind::memory;
        default:
            return EventKind::span;
    }
}

}  // namespace

// Those that a trace may do without are there once a row needs them.
template <class Change>
void RowWriter::for_each_column(Change change) {
    for (auto* column : {&trace_.start_ns, &trace_.duration_ns}) change(*column);
    for (auto* column : {&trace_.name, &trace_.track}) change(*column);
    for (auto* column : {&trace_.category, &trace_.kind, &trace_.scope, &trace_.flags}) change(*column);
    if (!trace_.args.empty()) change(trace_.args);
    if (!trace_.correlation.empty()) change(trace_.correlation);
}

void RowWriter::resize(size_t rows) {
    for_each_column([rows](auto& column) { column.resize(rows); });
    fill_columns();
}

size_t RowWriter::add_row() {
    for_each_column([](auto& column) { column.extend(1); });
    fill_columns();
    return trace_.size() - 1;
}

void RowWriter::drop_pages(size_t begin, size_t end) const {
    for (auto* column : {&trace_.start_ns, &trace_.duration_ns}) column->drop_pages(begin, end);
    for (auto* column : {&trace_.name, &trace_.track}) column->drop_pages(begin, end);
    for (auto* column : {&trace_.category, &trace_.kind, &trace_.scope, &trace_.flags})
        column->drop_pages(begin, end);
    if (!trace_.args.empty()) trace_.args.drop_pages(begin, end);
    if (!trace_.sequence.empty()) trace_.sequence.drop_pages(begin, end);
    if (!trace_.record_function.empty()) trace_.record_function.drop_pages(begin, end);
}

void RowWriter::write_row(size_t row, uint32_t track, const Clipped& clipped, uint32_t name) {
    const int64_t start_ns = wall(clipped.start);
    trace_.start_ns[row] = start_ns;
    trace_.duration_ns[row] = wall(clipped.end) - start_ns;
    trace_.name[row] = name;
    trace_.track[row] = track;
    trace_.flags[row] = clipped.flags & event_flags;
}

void RowWriter::write_host_event(size_t row, uint32_t track, const Record& record, const Clipped& clipped) {
    trace_.kind[row] = uint8_t(event_kind(record.kind));
    trace_.scope[row] = record.scope;
    if (is_call(record.category)) {
        trace_.category[row] = record.category;
        write_call(row, track, clipped, record.name, options_.calls.lines ? record.correlation : 0);
    } else {
        write_named(row, track, clipped, record.name, record.category);
    }
    if (record.kind == RecordKind::counter) write_counter_value(row, std::bit_cast<double>(record.end));
    if (record.flags & record::flag_operator)
        write_operator(row, record);
    else if (record.payload != 0)
        write_payload(row, record, 0);
    if (record.flags & record::flag_stack)
        write_stack(row, record.correlation);
    else if (!is_call(record.category) && !(record.flags & record::flag_operator))
        write_correlation(row, record.correlation);
}

void RowWriter::write_counter(size_t row, uint32_t track, const Record& record, const Clipped& clipped) {
    write_row(row, track, clipped, names_(record.name));
    trace_.kind[row] = uint8_t(EventKind::counter);
    trace_.category[row] = record.category;
    write_counter_value(row, std::bit_cast<double>(record.end));
}

void RowWriter::write_open_scope(size_t row, uint32_t track, const record::OpenScopeCopy& scope,
                                 const Clipped& clipped) {
    trace_.kind[row] = uint8_t(EventKind::span);
    trace_.category[row] = uint8_t(scope.meta);
    trace_.scope[row] = uint8_t(scope.meta >> 8);
    if (is_call(uint8_t(scope.meta))) return write_call(row, track, clipped, scope.name, 0);
    write_named(row, track, clipped, scope.name, uint8_t(scope.meta));
    if (scope.told.size() < sizeof(record::Operator)) return;
    record::Operator told;
    std::memcpy(&told, scope.told.data(), sizeof told);
    write_operator(row, told, std::string_view(scope.told).substr(sizeof told));
}

void RowWriter::write_named(size_t row, uint32_t track, const Clipped& clipped, uint32_t recorded,
                            uint8_t category) {
    if (category != uint8_t(Category::annotation)) {
        trace_.category[row] = category;
        return write_row(row, track, clipped, names_(recorded));
    }
    const AnnotationNames::Entry& annotation = annotation_names_(recorded);
    trace_.category[row] = annotation.category;
    write_row(row, track, clipped, annotation.name);
}

// And not a task of it.
Track& RowWriter::thread_of(size_t row) {
    Track& track = trace_.tracks[trace_.track[row]];
    return track.parent >= 0 ? trace_.tracks[size_t(track.parent)] : track;
}

void RowWriter::write_operator(size_t row, const Record& record) {
    record::Operator told{.sequence = record.correlation};
    if (record.payload != 0) std::memcpy(&told, record.payload_bytes(), sizeof told);
    write_operator(row, told, record.payload > 1 ? text_behind(record, sizeof told) : std::string_view());
}

// Those with inputs that were not likely to come again have a text of their own.
void RowWriter::write_operator(size_t row, record::Operator told, std::string_view inputs) {
    if (told.forward_thread() & record::own_thread) {
        thread_of(row).framework_thread = told.forward_thread() & ~record::own_thread;
        told.thread_and_inputs -= told.forward_thread();
    }
    if (told.sequence >= 0) {
        if (trace_.sequence.empty()) trace_.fill(trace_.sequence, int64_t(-1));
        trace_.sequence[row] = told.sequence;
    }
    if (told.number() != 0) {
        if (trace_.record_function.empty()) trace_.fill(trace_.record_function, uint32_t(0));
        trace_.record_function[row] = told.number();
    }
    if (inputs.empty()) {
        const TextRange& shared = operator_args_(told);
        if (shared.length == 0) return;
        if (trace_.args.empty()) trace_.args.resize(trace_.size());
        trace_.args[row] = shared;
        return;
    }
    const std::string_view wanted = options_.wanted.input_shapes ? clean(inputs, {}) : std::string_view();
    write_args(row, operator_args_.text(told, wanted));
}

// Most scopes have no other arguments, and then all with the same stack share its text.
void RowWriter::write_stack(size_t row, uint32_t stack) {
    if (!options_.wanted.stacks) return;
    const TextRange& shared = stack_args_(stack);
    if (shared.length == 0) return;
    if (trace_.args.empty()) trace_.args.resize(trace_.size());
    TextRange& args = trace_.args[row];
    if (args.length == 0) {
        args = shared;
        return;
    }
    const std::string own(trace_.args_text.data() + args.offset, args.length);
    const std::string stack_text(trace_.args_text.data() + shared.offset, shared.length);
    write_args(row, own + "," + stack_text);
}

void RowWriter::write_range(size_t row, uint32_t track, const Record& begin, const Record* end,
                            RecordKind kind, const Clipped& clipped) {
    trace_.kind[row] = uint8_t(event_kind(kind));
    trace_.scope[row] = begin.scope;
    const uint32_t name = end && end->name != 0 ? end->name : begin.name;
    write_named(row, track, clipped, name, begin.category);
    if (begin.payload != 0) write_payload(row, begin, 0);
    if (!end || end->payload == 0) return;
    const std::string first(trace_.args_of(row));
    write_payload(row, *end, 0);
    const std::string second(trace_.args_of(row));
    if (!first.empty() && second != first) write_args(row, first + "," + second);
}

void RowWriter::write_call(size_t row, uint32_t track, const Clipped& clipped, uint32_t recorded,
                           uint32_t line) {
    const CallNames::Entry& call = call_names_(recorded);
    write_row(row, track, clipped, call.name);
    if (call.args.length == 0 && line == 0) return;
    if (trace_.args.empty()) trace_.args.resize(trace_.size());
    trace_.args[row] = call.args;
    if (line == 0) return;
    std::string text(trace_.args_text.data() + call.args.offset, call.args.length);
    text += (text.empty() ? "\"Call line\":" : ",\"Call line\":") + std::to_string(line);
    write_args(row, text);
}

void RowWriter::write_correlation(size_t row, uint32_t correlation) {
    if (correlation == 0) return;
    if (trace_.correlation.empty()) trace_.correlation.resize(trace_.size());
    trace_.correlation[row] = correlation;
}

void RowWriter::write_args(size_t row, std::string_view members) {
    if (members.empty()) return;
    if (trace_.args.empty()) trace_.args.resize(trace_.size());
    trace_.args[row] = {trace_.args_text.size(), members.size()};
    trace_.args_text.append(members.data(), members.size());
}

void RowWriter::write_members(size_t row, uint32_t members) {
    if (members == 0) return;
    const TextRange& shared = shared_args_(members);
    if (shared.length == 0) return;
    if (trace_.args.empty()) trace_.args.resize(trace_.size());
    trace_.args[row] = shared;
}

std::span<const std::string_view> RowWriter::left_out_of(const Record& record) const {
    if (options_.wanted.input_shapes || !(record.flags & record::flag_input_shapes)) return {};
    return shape_members;
}

void RowWriter::write_payload(size_t row, const Record& record, size_t skipped) {
    write_args(row, clean(text_behind(record, skipped), left_out_of(record)));
}

// What stands behind `skipped` bytes of a payload.
std::string_view RowWriter::text_behind(const Record& record, size_t skipped) {
    const char* payload = record.payload_bytes() + skipped;
    const size_t room = record.payload * sizeof(Record) - skipped;
    uint32_t bytes = 0;
    std::memcpy(&bytes, payload, sizeof bytes);
    if (bytes <= room - sizeof bytes) return {payload + sizeof bytes, bytes};
    ++damaged_;
    return {};
}

// Until the next is cleaned; nothing of what is no JSON.
std::string_view RowWriter::clean(std::string_view members, std::span<const std::string_view> left_out) {
    if (members.empty() || !options_.clean_members) return members;
    if (options_.clean_members(members, left_out, clean_)) return clean_;
    ++damaged_;
    return {};
}

void RowWriter::write_counter_value(size_t row, double value) {
    char text[48];
    const bool is_whole = std::abs(value) < 1e15 && value == double(int64_t(value));
    const int bytes = !std::isfinite(value) ? std::snprintf(text, sizeof text, "\"value\":null")
                      : is_whole ? std::snprintf(text, sizeof text, "\"value\":%" PRId64, int64_t(value))
                                 : std::snprintf(text, sizeof text, "\"value\":%.17g", value);
    write_args(row, {text, size_t(bytes)});
}

}  // namespace kinetograph::trace
