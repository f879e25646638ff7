// What a session takes with it when it stops: the records of its window, what is still open, and what was
// lost.
#include <unistd.h>

#include <algorithm>

#include "record/losses.h"
#include "record/open_scopes.h"
#include "record/recorder.h"

namespace kinetograph::record {

Recording Recorder::gather_all(Session& session, const base::MeasuredAnchor& stop,
                               std::vector<ExtentRef>& retained) {
    const uint64_t asked_at = session.ring_held_at ? session.ring_held_at : stop.ticks;
    if (session.options.ring_ns != 0)
        session.keep_from =
            std::max(session.keep_from, base::ticks_before(asked_at, session.options.ring_ns));
    Recording recording;
    recording.clock = base::ClockFit::from_anchors(base::process_anchor(), session.start, stop);
    recording.window = {session.keep_from, stop.ticks};
    recording.started_at = session.start.ticks;
    recording.pauses = session.pauses;
    recording.pid = getpid();
    recording.process_name = process_name_;
    recording.all_threads = session.options.all_threads;
    recording.memory_limit_bytes = session.options.limits.memory_bytes;
    recording.spill_directory = session.options.limits.directory;
    recording.names = [this](uint32_t name) { return strings_.lookup(name); };
    recording.names_of_silent_threads = given_names_.all();
    for (auto& [thread, membership] : session.members)
        recording.threads.push_back(gather(*thread, membership, recording.window, retained));
    std::sort(recording.threads.begin(), recording.threads.end(),
              [](const ThreadRecording& a, const ThreadRecording& b) { return a.index < b.index; });
    note_losses(session, recording);
    if (session.keep_from > session.start.ticks)
        add_ring_note(recording.notes, double(stop.ticks - session.keep_from) * recording.clock.ns_per_tick(),
                      double(stop.ticks - session.start.ticks) * recording.clock.ns_per_tick());
    return recording;
}

ThreadRecording Recorder::gather(ThreadBuffer& thread, Membership& membership, const Window& window,
                                 std::vector<ExtentRef>& retained) {
    ThreadRecording result;
    result.index = thread.index;
    result.tid = thread.tid;
    result.name = thread.name;
    result.serves_all = thread.serves_all;
    // Open scopes first: one that ends meanwhile is then seen twice, and its record tells. The other way
    // round it would be seen nowhere.
    if (membership.part == Part::recording) result.open = open_scopes_of(thread);
    for (const Window& joined : membership.windows) {
        const Window seen{std::max(joined.begin, window.begin), std::min(joined.end, window.end)};
        if (seen.begin <= seen.end) result.windows.push_back(seen);
    }
    for (size_t i = 0; i < thread.extents.size(); ++i) {
        const OwnedExtent& extent = thread.extents[i];
        // Records are appended when they end, so an extent holds nothing that ended before it was opened.
        if (i + 1 < thread.extents.size() && thread.extents[i + 1].opened_at < window.begin) continue;
        const Record* records = extent.ref.header->records();
        const uint32_t used = extent.is_complete ? extent.used : extent.ref.header->used();
        result.ranges.push_back({records, records + used, extent.ref.slab->segment->file != 0});
        const Segment& segment = *extent.ref.slab->segment;
        result.is_spilled |= segment.is_spill && extent.opened_at >= window.begin;
        retained.push_back(extent.ref);
        pool_.retain(extent.ref);
    }
    if (thread.extent.slab && !result.open.empty()) forget_ended(result.open, result.ranges.back());
    keep_open_at_leave(membership.open_at_leave, result.open);
    result.losses = losses_of(thread) - membership.at_join;
    return result;
}

uint64_t Recorder::unrecorded_scopes() const {
    uint64_t scopes = unrecorded_by_dead_threads_;
    for (const auto& [index, thread] : threads_)
        scopes += thread->losses.unrecorded.load(std::memory_order_relaxed);
    return scopes;
}

void Recorder::note_losses(const Session& session, Recording& recording) const {
    Losses total = session.losses_of_forgotten;
    bool is_spilled = false;
    for (const ThreadRecording& thread : recording.threads) {
        is_spilled |= thread.is_spilled;
        total = total + thread.losses;
    }
    if (session.options.all_threads)
        total.dropped += dropped_without_a_buffer_.load(std::memory_order_relaxed) - session.dropped_before;
    recording.brief_calls = total.brief;
    add_loss_notes(recording.notes, total, pool_.why_refused());
    add_name_notes(recording.notes, strings_.refused() - session.names_refused_before,
                   strings_.shortened() - session.names_shortened_before);
    if (!session.options.all_threads)
        add_other_threads_note(recording.notes, unrecorded_scopes() - session.unrecorded_before);
    if (is_spilled && pool_.spilled_to_memory())
        recording.notes.emplace_back(
            "spill", "records were spilled to a tmpfs, which is memory: set a directory on a disk");
}

// Under the lock.
void Recorder::let_go_of(const Held& held) {
    for (const ExtentRef& extent : held.records) pool_.release(extent);
    for (const ExtentRef& extent : held.journal) pool_.release(extent);
    --leases_;
    if (sessions_.empty()) pool_.shrink();
}

void Recorder::give_back(Held& held, bool is_lost) {
    {
        std::lock_guard lock(mutex_);
        let_go_of(held);
    }
    if (held.file && !is_lost) held.file->remove();
    // The string table is locked before the recorder, never after.
    if (strings_.bytes() <= strings_worth_forgetting) return;
    strings_.forget_if([this] {
        std::lock_guard lock(mutex_);
        return sessions_.empty() && leases_ == 0;
    });
}

}  // namespace kinetograph::record
