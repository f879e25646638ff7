// One event of a recording becomes one row of a Trace: its names, its arguments, its numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "record/recording.h"
#include "trace/builder.h"
#include "trace/clip.h"
#include "trace/operator_args.h"
#include "trace/recorded_names.h"
#include "trace/trace.h"

namespace kinetograph::trace {

class RowWriter {
public:
    RowWriter(const record::Recording& recording, const BuildOptions& options, Trace& trace)
        : options_(options),
          clock_(recording.clock),
          trace_(trace),
          names_(recording, trace.strings),
          call_names_(recording, options.clean_members, trace),
          annotation_names_(recording, trace),
          stack_args_(recording, options.clean_members, trace),
          shared_args_(recording, options.clean_members, trace),
          operator_args_(recording, options, trace) {}

    void resize(size_t rows);
    // A new row at the end.
    size_t add_row();
    // Columns in a file are filled almost in order; what lies behind need not stay in memory.
    void drop_pages(size_t begin, size_t end) const;

    void write_host_event(size_t row, uint32_t track, const record::Record& record, const Clipped& clipped);
    // A value, in whose record `end` is that.
    void write_counter(size_t row, uint32_t track, const record::Record& record, const Clipped& clipped);
    void write_open_scope(size_t row, uint32_t track, const record::OpenScopeCopy& scope,
                          const Clipped& clipped);
    // A range that was recorded in two halves; without an end where nobody told one.
    void write_range(size_t row, uint32_t track, const record::Record& begin, const record::Record* end,
                     record::RecordKind kind, const Clipped& clipped);
    // The line is where the caller stood, 0 when nobody asked.
    void write_call(size_t row, uint32_t track, const Clipped& clipped, uint32_t recorded, uint32_t line);
    // A span that is nobody's call.
    void write_row(size_t row, uint32_t track, const Clipped& clipped, uint32_t name);
    void write_args(size_t row, std::string_view members);
    // Arguments that many events share, by the name id of their text; 0: none.
    void write_members(size_t row, uint32_t members);
    void write_correlation(size_t row, uint32_t correlation);
    // Columns that a trace may do without, and that do not begin as zero.
    void fill_columns() {
        if (!trace_.sequence.empty()) trace_.fill(trace_.sequence, int64_t(-1));
        if (!trace_.record_function.empty()) trace_.fill(trace_.record_function, uint32_t(0));
    }
    // What stands behind `skipped` bytes of a record's payload.
    void write_payload(size_t row, const record::Record& record, size_t skipped);

    uint32_t name(uint32_t recorded) { return names_(recorded); }
    const std::vector<uint32_t>& names_of_objects() const { return call_names_.of_objects(); }
    int64_t wall(uint64_t ticks) const { return clock_.to_wall_ns(ticks); }
    Trace& trace() { return trace_; }
    // How many events had arguments that are no JSON.
    size_t damaged() const { return damaged_; }

private:
    template <class Change>
    void for_each_column(Change change);
    // What it is called, and of which category that makes it.
    void write_named(size_t row, uint32_t track, const Clipped& clipped, uint32_t recorded, uint8_t category);
    void write_operator(size_t row, const record::Record& record);
    void write_operator(size_t row, record::Operator told, std::string_view inputs);
    std::string_view text_behind(const record::Record& record, size_t skipped);
    std::string_view clean(std::string_view members, std::span<const std::string_view> left_out);
    Track& thread_of(size_t row);
    void write_stack(size_t row, uint32_t stack);
    void write_counter_value(size_t row, double value);
    std::span<const std::string_view> left_out_of(const record::Record& record) const;

    const BuildOptions& options_;
    const base::ClockFit& clock_;
    Trace& trace_;
    NameMap names_;
    CallNames call_names_;
    AnnotationNames annotation_names_;
    StackArgs stack_args_;
    SharedArgs shared_args_;
    OperatorArgs operator_args_;
    size_t damaged_ = 0;
    std::string clean_;
};

}  // namespace kinetograph::trace
