// Writes the elements of "traceEvents": rows of a Trace, their flows, and the names of processes and tracks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/block.h"
#include "format/flows.h"
#include "format/lanes.h"
#include "trace/trace.h"

namespace kinetograph::format {

class EventWriter {
public:
    EventWriter(const trace::Trace& trace, Block& out, int64_t base_ns);

    // The M events. To be called first.
    void write_names(int64_t at_ns);
    void write_events();
    // The row of the window and its markers, which Kineto adds.
    void write_window();

private:
    // One row on the viewer's screen.
    struct Place {
        std::string tid;       // as it stands in JSON
        std::string fragment;  // ,"pid":1,"tid":2,"ts":
    };
    struct OpenCall {
        int64_t end_ns;
        uint64_t id;
    };

    void find_lanes();
    void add_place(uint32_t track, std::string tid);
    void number_owners();

    void enter_track();
    void write_event(size_t row);
    void write_head(size_t row, const Place& place);
    void put_name(size_t row);
    void write_args(size_t row);
    void write_column_args(size_t row);
    void write_python_ids(size_t row);
    void write_flows(size_t row, const Place& place);
    void write_flow(char phase, uint64_t id, const char* category, size_t row, const Place& place);
    void put_key(std::string_view key);
    void put_separator();

    const trace::Trace& trace_;
    Block& out_;
    const int64_t base_ns_;
    const bool has_overloads_;
    const Flows flows_;
    std::vector<std::vector<Place>> places_;                               // by track, then lane
    std::vector<std::string> span_heads_, instant_heads_, counter_heads_;  // by category, up to the name
    trace::Column<uint32_t> external_ids_;  // by row; only when some event refers to another
    Lanes lanes_;
    std::vector<OpenCall> open_calls_;
    uint64_t next_external_id_ = 1, next_python_id_ = 1;
    size_t next_forward_ = 0, next_backward_ = 0;
    bool first_event_ = true, first_arg_ = true;
};

}  // namespace kinetograph::format
