#include "trace/ranges.h"

#include <algorithm>

namespace kinetograph::trace {

using record::Record;
using record::RecordKind;

// Memory that the thread went on with holds begins of earlier sessions, too, whose ends may be elsewhere.
void Ranges::see(const record::ThreadRecording& thread, const Record& record) {
    const bool is_old = record.kind == RecordKind::range_begin && record.start < session_start_;
    if (makes_sense(record.category, record.scope) && !is_old)
        halves_by_id_[record.end].push_back({&thread, &record});
}

void Ranges::write() {
    for (auto& [id, halves] : halves_by_id_) join(halves);
}

// An end without a begin is of a range that began before the session did.
void Ranges::join(std::vector<Half>& halves) {
    std::stable_sort(halves.begin(), halves.end(),
                     [](const Half& a, const Half& b) { return a.record->start < b.record->start; });
    const Half* open = nullptr;
    for (const Half& half : halves) {
        if (open && half.begins()) write(*open, nullptr, RecordKind::instant, open->record->start);
        if (open && !half.begins()) write(*open, &half, RecordKind::span, half.record->start);
        open = half.begins() ? &half : nullptr;
    }
    // To the end of the session, and beyond.
    if (open) write(*open, nullptr, RecordKind::span, UINT64_MAX);
}

void Ranges::write(const Half& begin, const Half* end, RecordKind kind, uint64_t end_tick) {
    Record whole = *begin.record;
    whole.kind = kind;
    whole.end = end_tick;
    whole.flags |= record::flag_async;
    Clipped clipped;
    if (!filter_.wants(*begin.thread, whole, clipped)) return;
    const uint32_t track = track_of_(begin.thread->tid, whole.start);
    rows_.write_range(rows_.add_row(), track, *begin.record, end ? end->record : nullptr, kind, clipped);
}

}  // namespace kinetograph::trace
