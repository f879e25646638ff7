// The rows of one lane: events come in the order they ended, and go to where they belong by start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/row_writer.h"
#include "trace/start_order.h"

namespace kinetograph::trace {

struct LaneRows {
    explicit LaneRows(const Storage& storage) : order(storage) {}
    StartOrder order;
    size_t first_row = 0;
    size_t next = 0;
    size_t last_row = 0;  // of those written
    uint32_t track = 0;
    uint32_t name = 0;
    bool has_several_names = false;

    void see_name(uint32_t seen) {
        if (name != 0 && name != seen) has_several_names = true;
        if (name == 0) name = seen;
    }

    // Where the event that ended next stands. Pages that lie behind are let go of.
    size_t next_row(const RowWriter& rows) {
        const size_t ended = next++;
        const size_t row = first_row + order.place(ended);
        if (next % rows_between_drops == 0) {
            order.drop_places(ended - rows_between_drops + 1, ended);
            rows.drop_pages(row > 2 * rows_between_drops ? row - 2 * rows_between_drops : 0, row);
        }
        return row;
    }
};

}  // namespace kinetograph::trace
