// Reading a session file, however its process ended.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <unordered_map>

#include "record/losses.h"
#include "record/mapped_file.h"
#include "record/open_scopes.h"
#include "record/session_file.h"
#include "record/told_operators.h"

namespace kinetograph::record {

namespace {

using Names = std::unordered_map<uint32_t, std::string>;

struct Found {
    std::map<uint32_t, std::vector<const ExtentHeader*>> records;
    std::map<uint32_t, std::vector<const ExtentHeader*>> stacks;
    std::map<uint32_t, std::vector<const ExtentHeader*>> told;
    std::vector<const ExtentHeader*> strings;
    std::vector<const ExtentHeader*> pauses;
    std::vector<const ExtentHeader*> left_open;
    std::vector<const ExtentHeader*> losses;
    base::ClockAnchor latest;
};

void sort_in(Found& found, const ExtentHeader& extent) {
    if (extent.kind == ExtentKind::records) found.records[extent.thread].push_back(&extent);
    if (extent.kind == ExtentKind::stack) found.stacks[extent.thread].push_back(&extent);
    if (extent.kind == ExtentKind::told) found.told[extent.thread].push_back(&extent);
    if (extent.kind == ExtentKind::strings) found.strings.push_back(&extent);
    if (extent.kind == ExtentKind::pauses) found.pauses.push_back(&extent);
    if (extent.kind == ExtentKind::left_open) found.left_open.push_back(&extent);
    if (extent.kind == ExtentKind::losses) found.losses.push_back(&extent);
    if (extent.kind == ExtentKind::free || !base::is_plausible(extent.anchor)) return;
    if (extent.anchor.ticks > found.latest.ticks) found.latest = extent.anchor;
}

void walk_slab(const std::byte* slab, Found& found) {
    size_t at = 0;
    while (at + sizeof(ExtentHeader) <= slab_bytes) {
        const auto& extent = *reinterpret_cast<const ExtentHeader*>(slab + at);
        if (extent.magic != extent_magic || extent.capacity > slab_units) return;
        const size_t end = at + extent.total_bytes();
        if (end > slab_bytes) return;
        sort_in(found, extent);
        at = end;
    }
}

void read_strings(const ExtentHeader& extent, Names& names) {
    const std::byte* bytes = reinterpret_cast<const std::byte*>(&extent + 1);
    const size_t used = std::min<size_t>(extent.used(), size_t(extent.capacity) * unit_bytes);
    size_t at = 0;
    while (at + sizeof(StringItem) <= used) {
        StringItem item;
        std::memcpy(&item, bytes + at, sizeof item);
        at += sizeof item;
        if (item.length > used - at) return;
        names.emplace(item.id, std::string(reinterpret_cast<const char*>(bytes + at), item.length));
        at += (size_t(item.length) + 7) / 8 * 8;
    }
}

// Calls visit(item) for each that is complete.
template <class Item, class Visit>
void for_each_item(const std::vector<const ExtentHeader*>& extents, Visit&& visit) {
    for (const ExtentHeader* extent : extents) {
        const auto* bytes = reinterpret_cast<const std::byte*>(extent + 1);
        const size_t used = std::min<size_t>(extent->used(), size_t(extent->capacity) * unit_bytes);
        for (size_t at = 0; at + sizeof(Item) <= used; at += sizeof(Item)) {
            Item item;
            std::memcpy(&item, bytes + at, sizeof item);
            visit(item);
        }
    }
}

// In order, none touching another.
std::vector<Window> read_pauses(const Found& found) {
    std::vector<Window> pauses, apart;
    for_each_item<PauseItem>(found.pauses, [&](const PauseItem& item) {
        if (item.begin <= item.end) pauses.push_back({item.begin, item.end});
    });
    std::sort(pauses.begin(), pauses.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    for (const Window& pause : pauses)
        if (apart.empty() || pause.begin > apart.back().end) apart.push_back(pause);
    return apart;
}

// What pauses leave of a window.
std::vector<Window> between(const Window& window, const std::vector<Window>& pauses) {
    std::vector<Window> windows;
    uint64_t begin = window.begin;
    for (const Window& pause : pauses) {
        if (pause.end < begin) continue;
        if (pause.begin > window.end) break;
        if (pause.begin >= begin) windows.push_back({begin, pause.begin});
        begin = pause.end;
    }
    if (begin <= window.end) windows.push_back({begin, window.end});
    return windows;
}

// Scopes that were open when a pause began, and have ended since.
void add_left_open(const Found& found, std::vector<ThreadRecording>& threads) {
    std::map<uint32_t, std::vector<OpenScopeCopy>> left;
    std::map<uint32_t, int32_t> tids;
    for_each_item<LeftOpenItem>(found.left_open, [&](const LeftOpenItem& item) {
        left[item.thread].push_back({item.start, item.name, item.meta, uint16_t(item.lane), item.seen_until});
        tids[item.thread] = item.tid;
    });
    for (ThreadRecording& thread : threads)
        if (const auto known = left.find(thread.index); known != left.end()) {
            if (thread.tid == 0) thread.tid = tids[thread.index];
            keep_open_at_leave(known->second, thread.open);
        }
}

void note_losses(const Found& found, const SessionFileHeader& header, Recording& recording) {
    Losses total;
    uint64_t unrecorded = 0, torn = 0, missed = 0, deep_stacks = 0;
    for (const ExtentHeader* extent : found.losses) {
        const auto* slots = reinterpret_cast<const LossCounts*>(extent + 1);
        const uint32_t count =
            std::min<uint32_t>(extent->used(), extent->capacity * unit_bytes / sizeof *slots);
        for (const LossCounts& lost : std::span(slots, count)) {
            total = total + Losses{lost.dropped, lost.unbalanced, lost.too_deep, lost.oversized, lost.brief};
            unrecorded += lost.unrecorded;
            torn += lost.torn;
            missed += lost.missed;
            deep_stacks += lost.deep_stacks;
        }
    }
    total.dropped += header.dropped.load(std::memory_order_relaxed);
    recording.brief_calls = total.brief;
    Notes& notes = recording.notes;
    add_loss_notes(notes, total, "memory ran out");
    add_name_notes(notes, header.names_refused, header.names_shortened);
    if (header.all_threads == 0 && header.version >= 2) add_other_threads_note(notes, unrecorded);
    add_count(notes, "torn", torn, "stacks changed while they were read, and were left out");
    add_count(notes, "too_deep", deep_stacks, "stacks had more than 10000 frames, and were left out");
    add_count(notes, "missed", missed, "rounds of samples were left out: the sampler came too late for them");
}

const Record* last_record(const ThreadRecording& thread) {
    const Record* last = nullptr;
    for_each_record(thread, [&](const Record& record) { last = &record; });
    return last;
}

// A scope whose record was written but which was not yet taken off the stack when the process was killed.
bool has_ended(const OpenScopeCopy& scope, const Record* last) {
    return last && last->start == scope.start && last->name == scope.name;
}

// A process killed while a stack moved has left both the old and the new one.
std::vector<const ExtentHeader*> newest_of_each_lane(const std::vector<const ExtentHeader*>& stacks) {
    std::map<uint32_t, const ExtentHeader*> newest;
    for (const ExtentHeader* stack : stacks) {
        const ExtentHeader*& known = newest[stack->lane];
        if (!known || known->order < stack->order) known = stack;
    }
    std::vector<const ExtentHeader*> result;
    for (const auto& [lane, stack] : newest) result.push_back(stack);
    return result;
}

void read_stack(const ExtentHeader& stack, const Record* last, std::vector<OpenScopeCopy>& into) {
    const auto* scopes = reinterpret_cast<const OpenScope*>(&stack + 1);
    const uint32_t depth = std::min(stack.used(), stack.capacity * 2);
    for (uint32_t i = 0; i < depth; ++i) {
        const uint64_t packed = scopes[i].name_and_meta.load(std::memory_order_relaxed);
        const OpenScopeCopy scope{scopes[i].start.load(std::memory_order_relaxed), uint32_t(packed >> 32),
                                  uint32_t(packed), uint16_t(stack.lane)};
        if (!has_ended(scope, last)) into.push_back(scope);
    }
}

ThreadRecording read_thread(const Found& found, uint32_t index) {
    ThreadRecording thread;
    thread.index = index;
    if (auto records = found.records.find(index); records != found.records.end()) {
        auto extents = records->second;
        std::sort(extents.begin(), extents.end(), [](auto* a, auto* b) { return a->order < b->order; });
        for (const ExtentHeader* extent : extents) {
            const uint32_t used = std::min(extent->used(), extent->capacity);
            thread.ranges.push_back({extent->records(), extent->records() + used, true});
            thread.tid = extent->tid;
        }
    }
    const Record* last = last_record(thread);
    if (auto stacks = found.stacks.find(index); stacks != found.stacks.end())
        for (const ExtentHeader* stack : newest_of_each_lane(stacks->second)) {
            read_stack(*stack, last, thread.open);
            thread.tid = stack->tid;
        }
    if (auto told = found.told.find(index); told != found.told.end()) add_told(told->second, thread.open);
    return thread;
}

// Of a damaged file, a tick may be any number: one of more than ten years after the start is none.
bool is_plausible(uint64_t at, const SessionFileHeader& header, const base::ClockFit& clock) {
    constexpr double longest_ns = 3e17;
    return at <= header.start.ticks || double(at - header.start.ticks) * clock.ns_per_tick() < longest_ns;
}

// And notes what has no place before it.
uint64_t latest_tick(Recording& recording, const SessionFileHeader& header, uint64_t latest) {
    uint64_t misplaced = 0;
    const auto see = [&](uint64_t at) {
        if (at <= latest) return;
        if (is_plausible(at, header, recording.clock))
            latest = at;
        else
            ++misplaced;
    };
    for (const ThreadRecording& thread : recording.threads) {
        for_each_record(thread, [&](const Record& record) {
            if (record.kind != RecordKind::device_span) see(record.last_tick());
        });
        for (const OpenScopeCopy& scope : thread.open) see(scope.start);
    }
    add_count(recording.notes, "damaged", misplaced,
              "events had times that cannot be, and were cut or left out");
    return latest;
}

// The far end of the rate. On the machine that recorded, since the same boot, now is the best there is: the
// process may have died long after its last anchor.
base::MeasuredAnchor far_anchor(const SessionFileHeader& header, const base::ClockAnchor& latest) {
    char boot_id[40] = {};
    read_boot_id(boot_id);
    const base::MeasuredAnchor now = base::measure_anchor();
    const bool is_same_boot = boot_id[0] != '\0' && std::memcmp(boot_id, header.boot_id, sizeof boot_id) == 0;
    if (is_same_boot && header.tick_source == base::tick_source && now.ticks > header.start.ticks) return now;
    // Anchors on the way of the program are single tries: doubt them by as much again.
    return {latest.ticks > header.start.ticks ? latest : header.start, 4 * header.start_uncertainty_ticks};
}

// When the process ended, if somebody knows and it is no nonsense.
uint64_t plausible_end(const SessionFileHeader& header, const base::ClockFit& clock, int64_t ended_raw_ns) {
    uint64_t ended = header.ended.load(std::memory_order_relaxed);
    if (ended_raw_ns > header.start.raw_ns)
        ended = std::max(ended, header.start.ticks + uint64_t(double(ended_raw_ns - header.start.raw_ns) /
                                                              clock.ns_per_tick()));
    return ended > header.start.ticks && is_plausible(ended, header, clock) ? ended : 0;
}

// Where the last `keep_ns` before `end` begin.
uint64_t newest(uint64_t end, int64_t keep_ns, const base::ClockFit& clock) {
    const double ticks = double(keep_ns) / clock.ns_per_tick();
    return keep_ns > 0 && ticks < double(end) ? end - uint64_t(ticks) : 0;
}

// Never taken, or given back: walking it finds nothing.
bool is_empty_slab(const std::byte* slab) {
    const auto& first = *reinterpret_cast<const ExtentHeader*>(slab);
    return first.magic != extent_magic || (first.kind == ExtentKind::free && first.capacity == slab_units);
}

void check_header(const SessionFileHeader& header, const std::string& path) {
    if (std::memcmp(header.magic, session_file_magic, sizeof header.magic) != 0)
        throw std::runtime_error(path + " is not a session file of Kinetograph");
    if (header.version < oldest_session_file_version || header.version > session_file_version)
        throw std::runtime_error(path + " has session file version " + std::to_string(header.version) +
                                 ", this Kinetograph reads versions " +
                                 std::to_string(oldest_session_file_version) + " to " +
                                 std::to_string(session_file_version));
    constexpr int64_t limit = int64_t(1) << 40;
    if (!base::is_plausible(header.start) || !base::is_plausible(header.process) ||
        uint64_t(header.start_uncertainty_ticks) > limit ||
        uint64_t(header.process_uncertainty_ticks) > limit)
        throw std::runtime_error(path + " is damaged: its clock anchors make no sense");
}

// The text of a field of fixed size, which a damaged file may have left without an end.
template <size_t size>
std::string text_of(const char (&field)[size]) {
    return std::string(field, strnlen(field, size));
}

int64_t wall_offset_ns(const base::ClockAnchor& anchor) {
    return anchor.wall_ns - anchor.raw_ns;
}

// Whoever runs processes that are never stopped tells of those that go on.
void note_that_it_lives(Recording& recording, const SessionFileHeader& header, size_t left_out,
                        bool is_never_stopped) {
    if (!is_never_stopped)
        recording.notes.emplace_back("running", "process " + std::to_string(header.pid) +
                                                    " is still running: this is what it had recorded so far");
    add_count(recording.notes, "torn", left_out,
              "pieces of 64 KiB changed while they were read, and were left out");
}

// Not of one that is alive: it grows while it is read.
void note_a_cut(Recording& recording, const MappedFile& file) {
    const uint64_t whole = file.header().file_bytes.load(std::memory_order_relaxed);
    if (file.bytes() < whole)
        recording.notes.emplace_back(
            "truncated", "the session file had " + std::to_string(whole) + " bytes, and the first " +
                             std::to_string(file.bytes()) + " are here: what lay behind them is missing");
}

void note_the_end(Recording& recording, const SessionFileHeader& header, bool is_never_stopped) {
    size_t open = 0;
    for (const ThreadRecording& thread : recording.threads) open += thread.open.size();
    const bool has_ended = header.ended.load(std::memory_order_relaxed) != 0;
    if (open != 0 || !(is_never_stopped || has_ended))
        recording.notes.emplace_back("recovered", "the process " + std::to_string(header.pid) +
                                                      " ended without stopping its session; " +
                                                      std::to_string(open) + " scopes were open");
}

}  // namespace

SessionFileInfo read_session_file_info(const std::string& path) {
    const MappedFile file(path);
    const SessionFileHeader& header = file.header();
    check_header(header, path);
    SessionFileInfo info;
    info.pid = header.pid;
    info.parent_pid = header.parent_pid;
    info.process_name = text_of(header.process_name);
    info.command = text_of(header.command);
    info.boot_id = text_of(header.boot_id);
    info.start_ns = header.start.wall_ns;
    info.wall_offset_ns = wall_offset_ns(header.start);
    info.bytes = file.bytes();
    info.has_ended = header.ended.load(std::memory_order_relaxed) != 0;
    info.is_in_use = is_in_use(path);
    return info;
}

uint64_t trim_session_file(const std::string& path) {
    if (is_in_use(path)) return 0;
    const MappedFile file(path);
    check_header(file.header(), path);
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) fail_with_errno("cannot open", path);
    uint64_t given_back = 0;
    for (size_t at = session_header_bytes; at + slab_bytes <= file.bytes(); at += slab_bytes) {
        if (!is_empty_slab(file.data() + at)) continue;
        if (fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at), slab_bytes) != 0)
            break;  // this file system cannot
        given_back += slab_bytes;
    }
    close(descriptor);
    return given_back;
}

Recording recover_session_file(const std::string& path, const RecoverOptions& options) {
    auto file = std::make_shared<MappedFile>(path);
    check_header(file->header(), path);
    const bool is_alive = is_in_use(path);
    if (is_alive) file = std::make_shared<MappedFile>(*file, options.spill_directory);
    const SessionFileHeader& header = file->header();
    Found found;
    for (size_t at = session_header_bytes; at + slab_bytes <= file->bytes(); at += slab_bytes)
        walk_slab(file->data() + at, found);
    auto names = std::make_shared<Names>();
    for (const ExtentHeader* extent : found.strings) read_strings(*extent, *names);

    Recording recording;
    recording.pid = header.pid;
    recording.tick_source = header.tick_source;
    recording.is_recovered = true;
    recording.process_name = text_of(header.process_name);
    recording.memory_limit_bytes = options.memory_limit_bytes;
    recording.spill_directory = options.spill_directory;
    for (const auto& [index, extents] : found.stacks) found.records.try_emplace(index);
    for_each_item<LeftOpenItem>(found.left_open,
                                [&](const LeftOpenItem& item) { found.records.try_emplace(item.thread); });
    for (const auto& [index, extents] : found.records) recording.threads.push_back(read_thread(found, index));
    const base::MeasuredAnchor process{header.process, header.process_uncertainty_ticks};
    const base::MeasuredAnchor start{header.start, header.start_uncertainty_ticks};
    recording.clock = base::ClockFit::from_anchors(process, start, far_anchor(header, found.latest));
    if (!options.boot_id.empty() && options.boot_id == text_of(header.boot_id))
        recording.clock.shift_wall(options.wall_offset_ns - wall_offset_ns(header.start));
    // A moment after the last sign of life, so that the scope begun last lies inside the one around it.
    const auto moment = uint64_t(1000.0 / recording.clock.ns_per_tick());
    const uint64_t known_end = plausible_end(header, recording.clock, options.ended_raw_ns);
    const uint64_t latest_anchor =
        is_plausible(found.latest.ticks, header, recording.clock) ? found.latest.ticks : 0;
    const uint64_t latest_sign =
        latest_tick(recording, header, std::max({header.start.ticks, latest_anchor, known_end}));
    const uint64_t held_at = header.ring_held_at.load(std::memory_order_relaxed);
    const uint64_t newest_at = held_at != 0 ? std::min(held_at, latest_sign) : latest_sign;
    const uint64_t keep_from = std::max(header.keep_from.load(std::memory_order_relaxed),
                                        newest(newest_at, options.keep_ns, recording.clock));
    recording.window = {std::max(header.start.ticks, std::min(keep_from, latest_sign)),
                        std::min(latest_sign, uint64_t(1) << 62) + moment};
    recording.started_at = header.start.ticks;
    recording.clock.extend_to(recording.window.end);
    if (recording.window.begin > header.start.ticks)
        add_ring_note(recording.notes,
                      double(recording.window.end - recording.window.begin) * recording.clock.ns_per_tick(),
                      double(recording.window.end - header.start.ticks) * recording.clock.ns_per_tick());
    recording.pauses = read_pauses(found);
    if (!recording.pauses.empty() && recording.pauses.front().begin <= header.start.ticks) {
        recording.window.begin =
            std::clamp(recording.pauses.front().end, recording.window.begin, recording.window.end);
        recording.pauses.erase(recording.pauses.begin());
    }
    const std::vector<Window> windows = between(recording.window, recording.pauses);
    for (ThreadRecording& thread : recording.threads) thread.windows = windows;
    recording.names = [names](uint32_t name) {
        auto known = names->find(name);
        return known == names->end() ? std::string_view() : std::string_view(known->second);
    };
    if (is_alive)
        note_that_it_lives(recording, header, file->left_out(), options.is_never_stopped);
    else
        note_the_end(recording, header, options.is_never_stopped);
    if (!is_alive) note_a_cut(recording, *file);
    note_losses(found, header, recording);
    add_left_open(found, recording.threads);
    recording.scope_cost_ns = std::isfinite(header.scope_cost_ns) ? header.scope_cost_ns : 0;
    recording.release = [file, names](bool) {};
    return recording;
}

}  // namespace kinetograph::record
