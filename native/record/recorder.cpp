#include "record/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/fork.h"

namespace kinetograph::record {

std::atomic<uint32_t> active{0};
constinit thread_local ThreadBuffer* current_thread = nullptr;

namespace {

constexpr size_t least_string_limit = 4 << 20;
constexpr size_t strings_worth_forgetting = least_string_limit / 4;

Losses losses_of(const ThreadBuffer& thread) {
    return {thread.dropped.load(std::memory_order_relaxed), thread.unbalanced.load(std::memory_order_relaxed),
            thread.too_deep.load(std::memory_order_relaxed), thread.oversized.load(std::memory_order_relaxed),
            thread.brief.load(std::memory_order_relaxed)};
}

Losses operator-(const Losses& a, const Losses& b) {
    return {a.dropped - b.dropped, a.unbalanced - b.unbalanced, a.too_deep - b.too_deep,
            a.oversized - b.oversized, a.brief - b.brief};
}

OpenScopeCopy copy_of(const OpenScope& scope, uint16_t lane) {
    const uint64_t packed = scope.name_and_meta.load(std::memory_order_relaxed);
    return {scope.start.load(std::memory_order_relaxed), uint32_t(packed >> 32), uint32_t(packed), lane};
}

// The owner may go on while we read: take what held still, else only what lies below everything that moved.
void copy_open_scopes(const Lane& lane, std::vector<OpenScopeCopy>& into) {
    if (!lane.extent) return;
    const std::atomic<uint64_t>& state = lane.extent.header->state;
    const auto* scopes = reinterpret_cast<const OpenScope*>(lane.extent.header + 1);
    const size_t before_us = into.size();
    uint32_t lowest = UINT32_MAX;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        into.resize(before_us);
        const uint64_t before = state.load(std::memory_order_acquire);
        for (uint32_t i = 0; i < uint32_t(before); ++i) into.push_back(copy_of(scopes[i], lane.number));
        std::atomic_thread_fence(std::memory_order_acquire);
        const uint64_t after = state.load(std::memory_order_relaxed);
        if (before == after) return;
        lowest = std::min({lowest, uint32_t(before), uint32_t(after)});
    }
    into.resize(before_us + std::min<size_t>(into.size() - before_us, lowest > 0 ? lowest - 1 : 0));
}

// Scopes that ended while they were copied: their records are in the extent that the owner is writing to.
void forget_ended(std::vector<OpenScopeCopy>& open, const RecordRange& ended) {
    for_each_record(ended, [&](const Record& record) {
        std::erase_if(open, [&](const OpenScopeCopy& scope) {
            return scope.is(record.start, record.name, record.lane);
        });
    });
}

bool holds(const std::vector<OpenScopeCopy>& scopes, const OpenScopeCopy& wanted) {
    return std::any_of(scopes.begin(), scopes.end(), [&](const OpenScopeCopy& scope) {
        return scope.is(wanted.start, wanted.name, wanted.lane);
    });
}

// What was open when its thread left, unless it is still open.
void keep_open_at_leave(const std::vector<OpenScopeCopy>& left, std::vector<OpenScopeCopy>& open) {
    std::vector<OpenScopeCopy> kept;
    for (const OpenScopeCopy& scope : left)
        if (!holds(open, scope)) kept.push_back(scope);
    open.insert(open.begin(), kept.begin(), kept.end());
}

}  // namespace

// ---- life

Recorder::Recorder() {
    pthread_key_create(&exit_key_, [](void* thread) {
        try {
            instance().thread_exits(static_cast<ThreadBuffer*>(thread));
        } catch (const std::bad_alloc&) {
            // Its buffer stays as it is, as if the thread went on and recorded nothing.
        }
    });
    base::on_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

Recorder& Recorder::instance() {
    static Recorder* recorder = new Recorder;
    return *recorder;
}

void Recorder::before_fork() {
    instance().strings_.mutex().lock();
    instance().mutex_.lock();
    instance().pool_.end_keepers();
}

void Recorder::after_fork_in_parent() {
    instance().pool_.allow_keepers();
    instance().mutex_.unlock();
    instance().strings_.mutex().unlock();
}

void Recorder::after_fork_in_child() {
    instance().start_clean_in_child();
    instance().mutex_.unlock();
    instance().strings_.mutex().unlock();
    instance().strings_.set_journal(nullptr, nullptr);
}

void Recorder::start_clean_in_child() {
    active.fetch_and(~active_sessions, std::memory_order_relaxed);
    sessions_.clear();
    filled_.clear();
    string_extents_.clear();
    string_extent_ = {};
    extent_bytes_ = 0;
    leases_ = 0;
    session_file_users_ = 0;
    // Their owners are not here, and each may have been in the middle of changing its lanes, which it does
    // without a lock: what they hold is never touched again, not even to free it.
    for (auto& [index, thread] : threads_)
        if (thread.get() != current_thread) static_cast<void>(thread.release());
    threads_.clear();
    dead_threads_.clear();
    if (session_file_) session_file_->abandon();
    session_file_.reset();
    pool_.forget_everything();
    current_thread = nullptr;
    pthread_setspecific(exit_key_, nullptr);
}

// ---- sessions

SessionId Recorder::start(const SessionOptions& options) {
    scope_cost_ns();
    if (!options.session_directory.empty()) open_session_file(options.session_directory);
    ThreadBuffer& caller = current_thread ? *current_thread : register_thread();

    std::lock_guard lock(mutex_);
    const SessionId id = next_session_++;
    Session& session = sessions_[id];
    session.id = id;
    session.options = options;
    session.owner_tid = caller.tid;
    session.is_paused = options.starts_paused;
    session.has_begun = !options.starts_paused;
    apply_limits();
    pool_.prepare();
    begin(session);
    add_member(session, caller, session.start.ticks);
    for (auto& [index, thread] : threads_)
        if (thread->alive && (options.all_threads || thread->serves_all))
            add_member(session, *thread, session.start.ticks);
    active.fetch_or(active_sessions, std::memory_order_relaxed);
    return id;
}

// From here on is what the session saw; losses before are none of its own.
void Recorder::begin(Session& session) {
    session.start = base::measure_anchor();
    session.keep_from = session.recording_since = session.start.ticks;
    session.names_refused_before = strings_.refused();
    session.names_shortened_before = strings_.shortened();
    session.unrecorded_before = unrecorded_scopes();
    session.dropped_before = dropped_without_a_buffer_.load(std::memory_order_relaxed);
    for (auto& [thread, membership] : session.members) membership.at_join = losses_of(*thread);
}

// What only the session that has ended allowed, or wanted to keep.
void Recorder::go_on_without_it() {
    apply_limits();
    trim();
}

void Recorder::apply_limits() {
    PoolLimits limits{0, AtLimit::drop, {}};
    for (const auto& [id, session] : sessions_) {
        const PoolLimits& wanted = session.options.limits;
        limits.memory_bytes = std::max(limits.memory_bytes, wanted.memory_bytes);
        if (wanted.at_limit == AtLimit::spill) limits.at_limit = AtLimit::spill;
        if (limits.directory.empty()) limits.directory = wanted.directory;
    }
    pool_.set_limits(limits);
    strings_.set_limit(std::max<size_t>(limits.memory_bytes / 4, least_string_limit));
}

void Recorder::add_member(Session& session, ThreadBuffer& thread, uint64_t from) {
    auto [member, is_new] = session.members.try_emplace(&thread);
    Membership& membership = member->second;
    if (is_new) {
        membership.at_join = losses_of(thread);
        ++thread.memberships;
    }
    if (membership.part != Part::none) return;
    if (session.is_paused)
        set_part(thread, membership, Part::paused);
    else
        open_window(thread, membership, from);
}

void Recorder::open_window(ThreadBuffer& thread, Membership& membership, uint64_t from) {
    membership.windows.push_back({from, UINT64_MAX});
    set_part(thread, membership, Part::recording);
}

// What is open may never end in a window of this session, so it is remembered.
void Recorder::close_window(ThreadBuffer& thread, Membership& membership, uint64_t at, Part next) {
    std::vector<OpenScopeCopy> open;
    if (!thread.forget_open_scopes)
        for_each_stack(thread, [&](const Lane& lane) { copy_open_scopes(lane, open); });
    for (OpenScopeCopy& scope : open) scope.seen_until = at;
    std::vector<OpenScopeCopy>& left = membership.open_at_leave;
    const auto last = left.end() - ptrdiff_t(membership.left_last);
    left.erase(
        std::remove_if(last, left.end(), [&](const OpenScopeCopy& scope) { return holds(open, scope); }),
        left.end());
    left.insert(left.end(), open.begin(), open.end());
    membership.left_last = open.size();
    membership.windows.back().end = at;
    set_part(thread, membership, next);
}

void Recorder::set_part(ThreadBuffer& thread, Membership& membership, Part part) {
    thread.sessions += (part == Part::recording) - (membership.part == Part::recording);
    thread.paused_sessions += (part == Part::paused) - (membership.part == Part::paused);
    membership.part = part;
    settle(thread);
}

// Tells the thread what its sessions want of it now, if that has changed.
void Recorder::settle(ThreadBuffer& thread) {
    const uint32_t control = thread.control.load(std::memory_order_relaxed);
    const bool is_followed = (control & control_recording) != 0;
    const bool follow = thread.sessions + thread.paused_sessions != 0, keep = thread.sessions != 0;
    if (follow == is_followed && keep == thread.keeps_records) return;
    // What was open when nobody followed has its end nowhere; the owner forgets it before it records again.
    if (!is_followed) thread.forget_open_scopes = true;
    thread.keeps_records = keep;
    const uint32_t next = (control + control_step) & ~control_recording;
    thread.control.store(follow ? next | control_recording : next, std::memory_order_relaxed);
}

bool Recorder::join(SessionId id) {
    ThreadBuffer& thread = current_thread ? *current_thread : register_thread();
    std::lock_guard lock(mutex_);
    auto session = sessions_.find(id);
    if (session == sessions_.end()) return false;
    add_member(session->second, thread, base::ticks());
    return true;
}

void Recorder::serve_all() {
    ThreadBuffer& thread = current_thread ? *current_thread : register_thread();
    std::lock_guard lock(mutex_);
    thread.serves_all = true;
    for (auto& [id, session] : sessions_) add_member(session, thread, base::ticks());
}

bool Recorder::leave(SessionId id) {
    std::lock_guard lock(mutex_);
    auto session = sessions_.find(id);
    if (session == sessions_.end() || !current_thread) return false;
    auto member = session->second.members.find(current_thread);
    if (member == session->second.members.end() || member->second.part == Part::none) return false;
    if (member->second.part == Part::recording)
        close_window(*current_thread, member->second, base::ticks(), Part::none);
    else
        set_part(*current_thread, member->second, Part::none);
    return true;
}

bool Recorder::pause(SessionId id) {
    std::lock_guard lock(mutex_);
    auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second.is_paused) return false;
    Session& session = found->second;
    const uint64_t now = base::ticks();
    session.pauses.push_back({now, UINT64_MAX});
    session.is_paused = true;
    for (auto& [thread, membership] : session.members)
        if (membership.part == Part::recording) close_window(*thread, membership, now, Part::paused);
    return true;
}

bool Recorder::resume(SessionId id) {
    std::lock_guard lock(mutex_);
    auto found = sessions_.find(id);
    if (found == sessions_.end() || !found->second.is_paused) return false;
    Session& session = found->second;
    session.is_paused = false;
    if (session.has_begun)
        session.pauses.back().end = session.recording_since = base::ticks();
    else
        begin(session);
    session.has_begun = true;
    for (auto& [thread, membership] : session.members)
        if (membership.part == Part::paused && thread->alive)
            open_window(*thread, membership, session.recording_since);
    return true;
}

Recording Recorder::stop(SessionId id) {
    std::lock_guard lock(mutex_);
    auto found = sessions_.find(id);
    if (found == sessions_.end()) throw std::out_of_range("no such session");
    // Under the lock: while we wait for it, a ring goes on and would leave nothing of a window that ends now.
    const base::MeasuredAnchor stop = base::measure_anchor();
    Session session = std::move(found->second);
    sessions_.erase(found);

    if (session.options.ring_ns != 0)
        session.keep_from =
            std::max(session.keep_from, base::ticks_before(stop.ticks, session.options.ring_ns));
    Recording recording;
    recording.clock = base::ClockFit::from_anchors(base::process_anchor(), session.start, stop);
    recording.window = {session.keep_from, stop.ticks};
    recording.pauses = std::move(session.pauses);
    recording.pid = getpid();
    recording.process_name = process_name_;
    recording.all_threads = session.options.all_threads;
    recording.memory_limit_bytes = session.options.limits.memory_bytes;
    recording.spill_directory = session.options.limits.directory;
    recording.names = [this](uint32_t name) { return strings_.lookup(name); };
    std::vector<ExtentRef> retained;
    for (auto& [thread, membership] : session.members) {
        recording.threads.push_back(gather(*thread, membership, recording.window, retained));
        set_part(*thread, membership, Part::none);
        --thread->memberships;
    }
    std::sort(recording.threads.begin(), recording.threads.end(),
              [](const ThreadRecording& a, const ThreadRecording& b) { return a.index < b.index; });
    note_losses(session, recording);

    ++leases_;
    if (!session.options.session_directory.empty()) --session_file_users_;
    // A process killed while it builds its trace still has the file to recover from.
    std::shared_ptr<SessionFile> file = close_session_file_if_unused(retained);
    recording.release = [this, retained = std::move(retained), file = std::move(file)] {
        give_back(retained);
        if (file) file->remove();
    };
    if (sessions_.empty())
        rest_after_last_session();
    else
        go_on_without_it();
    return recording;
}

ThreadRecording Recorder::gather(ThreadBuffer& thread, Membership& membership, const Window& window,
                                 std::vector<ExtentRef>& retained) {
    ThreadRecording result;
    result.index = thread.index;
    result.tid = thread.tid;
    result.name = thread.name;
    // Open scopes first: one that ends meanwhile is then seen twice, and its record tells. The other way
    // round it would be seen nowhere.
    if (!thread.forget_open_scopes && membership.part == Part::recording)
        for_each_stack(thread, [&](const Lane& lane) { copy_open_scopes(lane, result.open); });
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
        pool_.retain(extent.ref);
        retained.push_back(extent.ref);
    }
    if (thread.extent.slab && !result.open.empty()) forget_ended(result.open, result.ranges.back());
    keep_open_at_leave(membership.open_at_leave, result.open);
    result.losses = losses_of(thread) - membership.at_join;
    return result;
}

uint64_t Recorder::unrecorded_scopes() const {
    uint64_t scopes = unrecorded_by_dead_threads_;
    for (const auto& [index, thread] : threads_) scopes += thread->unrecorded.load(std::memory_order_relaxed);
    return scopes;
}

void Recorder::note_losses(const Session& session, Recording& recording) const {
    Losses total;
    bool is_spilled = false;
    for (const ThreadRecording& thread : recording.threads) {
        is_spilled |= thread.is_spilled;
        total.dropped += thread.losses.dropped;
        total.unbalanced += thread.losses.unbalanced;
        total.too_deep += thread.losses.too_deep;
        total.oversized += thread.losses.oversized;
        total.brief += thread.losses.brief;
    }
    if (session.options.all_threads)
        total.dropped += dropped_without_a_buffer_.load(std::memory_order_relaxed) - session.dropped_before;
    auto note = [&](const char* kind, uint64_t count, const std::string& text) {
        if (count != 0) recording.notes.emplace_back(kind, std::to_string(count) + " " + text);
    };
    note("dropped", total.dropped,
         pool_.disk_full()
             ? "events were dropped: the memory limit was reached and the disk for spilling is full"
             : "events were dropped: the memory limit was reached");
    note("unbalanced", total.unbalanced, "scopes ended without having begun in this session and thread");
    note("too_deep", total.too_deep, "scopes were nested too deeply to be recorded");
    note("oversized", total.oversized, "events lost their arguments, which were larger than 60 KiB");
    note("brief", total.brief, "calls were shorter than asked for and left out");
    note("names", strings_.refused() - session.names_refused_before,
         "events lost their name: too many distinct names for the memory limit");
    note("names", strings_.shortened() - session.names_shortened_before,
         "names were longer than 32 KiB and were cut");
    if (!session.options.all_threads)
        note("threads", unrecorded_scopes() - session.unrecorded_before,
             "scopes of other threads were not recorded: this session is of chosen threads, all_threads=True "
             "records all");
    if (is_spilled && pool_.spilled_to_memory())
        recording.notes.emplace_back(
            "spill", "records were spilled to a tmpfs, which is memory: set a directory on a disk");
}

void Recorder::give_back(const std::vector<ExtentRef>& extents) {
    {
        std::lock_guard lock(mutex_);
        for (const ExtentRef& extent : extents) pool_.release(extent);
        --leases_;
        if (sessions_.empty()) pool_.shrink();
    }
    // The string table is locked before the recorder, never after.
    if (strings_.bytes() <= strings_worth_forgetting) return;
    strings_.forget_if([this] {
        std::lock_guard lock(mutex_);
        return sessions_.empty() && leases_ == 0;
    });
}

// ---- a session file under the memory

void Recorder::open_session_file(const std::string& directory) {
    {
        std::lock_guard lock(mutex_);
        if (session_file_) {
            if (session_file_->directory() == directory) {
                ++session_file_users_;
                return;
            }
            throw std::invalid_argument("this process already records to " + session_file_->path());
        }
        session_file_ = std::make_unique<SessionFile>(directory, base::measure_anchor(), process_name_);
        ++session_file_users_;
        pool_.use_session_file(session_file_->descriptor());
        move_all_to_new_memory();
    }
    strings_.set_journal(
        [](void* recorder, uint32_t id, std::string_view text) {
            static_cast<Recorder*>(recorder)->journal_string(id, text);
        },
        this);
}

// The owner of the buffer moves itself, the next time it records.
void Recorder::move_to_new_memory(ThreadBuffer& thread) {
    thread.move_to_new_memory = true;
    thread.control.fetch_add(control_step, std::memory_order_relaxed);
}

void Recorder::move_all_to_new_memory() {
    for (auto& [index, thread] : threads_) move_to_new_memory(*thread);
}

void Recorder::journal_string(uint32_t id, std::string_view text) {
    std::lock_guard lock(mutex_);
    if (!session_file_) return;
    const uint32_t bytes = uint32_t(sizeof(StringItem) + (text.size() + 7) / 8 * 8);
    uint32_t used = string_extent_ ? string_extent_.header->used() : 0;
    if (!string_extent_ || used + bytes > string_extent_.header->capacity * unit_bytes) {
        string_extent_ = pool_.open_extent(ExtentKind::strings, 0);
        if (!string_extent_) return;
        string_extents_.push_back(string_extent_);
        used = 0;
    }
    const StringItem item{id, uint32_t(text.size())};
    std::memcpy(string_extent_.header->bytes() + used, &item, sizeof item);
    std::memcpy(string_extent_.header->bytes() + used + sizeof item, text.data(), text.size());
    string_extent_.header->state.store(used + bytes, std::memory_order_release);
}

// Called under the lock. The mapping lives on while buffers or recordings are in it; the caller keeps the
// names that are in it and removes the file once its trace is built.
std::shared_ptr<SessionFile> Recorder::close_session_file_if_unused(std::vector<ExtentRef>& retained) {
    if (!session_file_ || session_file_users_ != 0) return nullptr;
    retained.insert(retained.end(), string_extents_.begin(), string_extents_.end());
    string_extents_.clear();
    string_extent_ = {};
    pool_.use_session_file(-1);
    move_all_to_new_memory();
    return std::move(session_file_);
}

std::vector<SessionInfo> Recorder::sessions() const {
    std::lock_guard lock(mutex_);
    std::vector<SessionInfo> infos;
    for (const auto& [id, session] : sessions_)
        infos.push_back({id, session.owner_tid, session.options.all_threads});
    return infos;
}

bool Recorder::is_running(SessionId id) const {
    std::lock_guard lock(mutex_);
    return sessions_.contains(id);
}

// ---- names and costs

void Recorder::set_thread_name(std::string_view name) {
    ThreadBuffer& thread = current_thread ? *current_thread : register_thread();
    {
        std::lock_guard lock(mutex_);
        thread.name = name;
    }
    thread.name_id = 0;
    refresh_name_id(thread);
    if (!recording_thread()) return;
    std::lock_guard lock(mutex_);
    if (session_file_) write_thread_name(thread);
}

// By the owner, without the recorder's lock, which comes after that of the strings.
void Recorder::refresh_name_id(ThreadBuffer& thread) {
    if (!thread.name.empty() && !strings_.is_valid(thread.name_id)) thread.name_id = intern(thread.name);
}

void Recorder::set_lane_name(uint16_t lane, std::string_view name) {
    ThreadBuffer* thread = recording_thread();
    if (!thread) return;
    const uint64_t now = base::ticks();
    append(*thread, {now, now, intern(name), RecordKind::lane_name, 0, 0, 0, lane, 0, 0});
}

void Recorder::set_process_name(std::string_view name) {
    std::lock_guard lock(mutex_);
    process_name_ = name;
    if (session_file_) session_file_->set_process_name(name);
}

void Recorder::mark_end() {
    std::lock_guard lock(mutex_);
    if (session_file_) session_file_->header().ended.store(base::ticks(), std::memory_order_relaxed);
}

// On a buffer of its own, so that nothing of it is ever seen.
double Recorder::scope_cost_ns() {
    static const double cost = [] {
        constexpr int scopes = 500;
        alignas(64) static std::byte memory[slab_bytes];
        auto* records = new (memory) ExtentHeader{};
        records->capacity = scopes;
        auto* stack = new (memory + slab_bytes / 2) ExtentHeader{};
        ThreadBuffer thread;
        thread.extent = {records, nullptr};
        Lane lane;
        lane.extent = {stack, nullptr};
        lane.entries = reinterpret_cast<OpenScope*>(stack + 1);
        lane.capacity = 2;
        const int64_t start_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
        for (int i = 0; i < scopes; ++i) {
            begin_scope(thread, lane, 1, 0);
            end_scope(thread, lane, 1, base::ticks());
        }
        return double(base::read_clock_ns(CLOCK_MONOTONIC_RAW) - start_ns) / scopes;
    }();
    return cost;
}

size_t Recorder::thread_count() const {
    std::lock_guard lock(mutex_);
    return threads_.size();
}

size_t Recorder::memory_bytes() const {
    std::lock_guard lock(mutex_);
    return pool_.anonymous_bytes();
}

}  // namespace kinetograph::record
