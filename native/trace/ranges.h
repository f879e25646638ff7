// Ranges of which begin and end were recorded apart, maybe by two threads.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "record/recording.h"
#include "trace/event_filter.h"
#include "trace/row_writer.h"

namespace kinetograph::trace {

inline bool is_half_of_a_range(record::RecordKind kind) {
    return kind == record::RecordKind::range_begin || kind == record::RecordKind::range_end;
}

class Ranges {
public:
    // The row of a thread at that tick.
    using TrackOf = std::function<uint32_t(int32_t tid, uint64_t tick)>;

    Ranges(uint64_t session_start, const EventFilter& filter, RowWriter& rows, TrackOf track_of)
        : session_start_(session_start), filter_(filter), rows_(rows), track_of_(std::move(track_of)) {}

    void see(const record::ThreadRecording& thread, const record::Record& record);
    // Once all halves were seen. They lie on the thread that began them.
    void write();
    bool empty() const { return halves_by_id_.empty(); }

private:
    struct Half {
        const record::ThreadRecording* thread;
        const record::Record* record;
        bool begins() const { return record->kind == record::RecordKind::range_begin; }
    };

    void join(std::vector<Half>& halves);
    void write(const Half& begin, const Half* end, record::RecordKind kind, uint64_t end_tick);

    const uint64_t session_start_;
    const EventFilter& filter_;
    RowWriter& rows_;
    TrackOf track_of_;
    std::unordered_map<uint64_t, std::vector<Half>> halves_by_id_;
};

}  // namespace kinetograph::trace
