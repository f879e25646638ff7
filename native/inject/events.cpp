#include "inject/events.h"

#include <atomic>

#include "inject/record_table.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

kinetograph_event event_at(uint64_t ticks, const Annotation& annotation) {
    kinetograph_event event{};
    event.name = annotation.name;
    event.category = annotation.domain.category();
    event.scope = annotation.domain.scope();
    event.start_ticks = ticks;
    event.args = annotation.args.data();
    event.args_bytes = uint32_t(annotation.args.size());
    return event;
}

}  // namespace

void mark(const Annotation& annotation) {
    const kinetograph_event event = event_at(recorder->ticks(), annotation);
    recorder->instant(&event);
}

void begin_range(uint64_t id, const Annotation& annotation) {
    begin_range_at(recorder->ticks(), id, annotation);
}

void end_range(uint64_t id, const Annotation& more) {
    end_range_at(recorder->ticks(), id, more);
}

void begin_range_at(uint64_t ticks, uint64_t id, const Annotation& annotation) {
    const kinetograph_event event = event_at(ticks, annotation);
    recorder->range_begin(id, &event);
}

void end_range_at(uint64_t ticks, uint64_t id, const Annotation& more) {
    const kinetograph_event event = event_at(ticks, more);
    recorder->range_end(id, &event);
}

uint64_t next_range_id() {
    constexpr uint32_t block_bits = 20;
    static std::atomic<uint64_t> next_block{1};
    // A block of them per thread, so that threads do not wait for one another's cache line.
    uint64_t& next = this_thread().next_range_id;
    if (next % (uint64_t(1) << block_bits) == 0) next = next_block.fetch_add(1) << block_bits;
    return next++;
}

}  // namespace kinetograph::inject
