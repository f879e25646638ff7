// Who records when: sessions begin and end, threads join and leave them, pauses come and go.
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "record/losses.h"
#include "record/open_scopes.h"
#include "record/recorder.h"

namespace kinetograph::record {

SessionId Recorder::start(const SessionOptions& options) {
    scope_cost_ns();
    ThreadBuffer& caller = current_thread ? *current_thread : register_thread();
    if (!options.session_directory.empty()) open_session_file(options.session_directory);

    std::lock_guard lock(mutex_);
    if (sessions_.empty()) given_names_.forget_ended();  // else others may still tell of them
    const SessionId id = next_session_++;
    try {
        take_in(sessions_[id], id, options, caller);
    } catch (...) {
        abandon(id, options);
        throw;
    }
    active.fetch_or(active_sessions, std::memory_order_relaxed);
    return id;
}

void Recorder::take_in(Session& session, SessionId id, const SessionOptions& options, ThreadBuffer& caller) {
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
    // One that starts paused begins later than its file, which is no pause of it.
    const bool is_of_file = session_file_ && !options.session_directory.empty();
    journal_pauses(is_of_file && options.starts_paused ? session_file_->header().start.ticks
                                                       : session.start.ticks);
    if (is_of_file && options.all_threads) session_file_->header().all_threads = 1;
}

// For want of memory: nobody will ever stop it.
void Recorder::abandon(SessionId id, const SessionOptions& options) noexcept {
    Held held;
    end(sessions_.find(id), !options.session_directory.empty(), base::ticks(), held);
    let_go_of(held);
    if (held.file) held.file->remove();
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
    only_rings_ = std::all_of(sessions_.begin(), sessions_.end(),
                              [](const auto& entry) { return entry.second.options.is_ring(); });
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
void Recorder::close_window(const Session& session, ThreadBuffer& thread, Membership& membership, uint64_t at,
                            Part next) {
    std::vector<OpenScopeCopy> open = open_scopes_of(thread);
    for (OpenScopeCopy& scope : open) scope.seen_until = at;
    std::vector<OpenScopeCopy>& left = membership.open_at_leave;
    const ScopeSet still_open(open);
    const auto last = left.end() - ptrdiff_t(membership.left_last);
    left.erase(std::remove_if(last, left.end(),
                              [&](const OpenScopeCopy& scope) { return still_open.contains(scope); }),
               left.end());
    if (session_file_ && !session.options.session_directory.empty()) journal_open(thread, membership, open);
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
    // It may tell of what happened before it got here.
    for (auto& [id, session] : sessions_) add_member(session, thread, session.recording_since);
    thread.serves_all = true;
}

ThreadBuffer* serving_thread() noexcept {
    if (!current_thread || !current_thread->serves_all)
        tell_or_count(nullptr, [] { Recorder::instance().serve_all(); });
    ThreadBuffer* thread = recording_thread();
    if (thread && !thread->discards) return thread;
    Recorder::instance().wait_for_starts();
    return recording_thread();
}

// A session has its first moment before its threads hear of it, under the lock.
void Recorder::wait_for_starts() {
    const std::lock_guard lock(mutex_);
}

bool Recorder::leave(SessionId id) {
    std::lock_guard lock(mutex_);
    auto session = sessions_.find(id);
    if (session == sessions_.end() || !current_thread) return false;
    auto member = session->second.members.find(current_thread);
    if (member == session->second.members.end() || member->second.part == Part::none) return false;
    if (member->second.part == Part::recording)
        close_window(session->second, *current_thread, member->second, base::ticks(), Part::none);
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
    session.paused_at_ns = base::read_clock_ns(CLOCK_REALTIME);
    for (auto& [thread, membership] : session.members)
        if (membership.part == Part::recording) close_window(session, *thread, membership, now, Part::paused);
    journal_pauses(now);
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
    journal_pauses(session.recording_since);
    return true;
}

void Recorder::hold_ring(SessionId id, bool is_held) {
    std::lock_guard lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    Session& session = found->second;
    session.ring_held_at = is_held ? base::ticks() : 0;
    session.ring_held_bytes = extent_bytes_;
    // For who reads the file afterwards; other sessions in it go on.
    const bool is_alone_in_file = !session.options.session_directory.empty() && session_file_users_ == 1;
    if (session_file_ && is_alone_in_file)
        session_file_->header().ring_held_at.store(session.ring_held_at, std::memory_order_relaxed);
}

Recording Recorder::stop(SessionId id) {
    std::lock_guard lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) throw std::out_of_range("no such session");
    // Under the lock: while we wait for it, a ring goes on and would leave nothing of a window that ends now.
    const base::MeasuredAnchor stop = base::measure_anchor();
    const auto held = std::make_shared<Held>();
    Recording recording;
    try {
        recording = gather_all(found->second, stop, held->records);
        recording.release = [this, held](bool is_lost) { give_back(*held, is_lost); };
    } catch (...) {
        // For want of memory: the session goes on, and can be stopped again.
        for (const ExtentRef& extent : held->records) pool_.release(extent);
        throw;
    }
    end(found, !found->second.options.session_directory.empty(), stop.ticks, *held);
    return recording;
}

// A process killed while it builds its trace still has the file to recover from: `held` has it.
void Recorder::end(Sessions::iterator session, bool is_of_file, uint64_t at, Held& held) noexcept {
    if (session != sessions_.end()) {
        for (auto& [thread, membership] : session->second.members) {
            set_part(*thread, membership, Part::none);
            --thread->memberships;
        }
        sessions_.erase(session);
    }
    ++leases_;
    if (is_of_file) --session_file_users_;
    try {
        if (session_file_users_ != 0) journal_pauses(at);
        close_session_file_if_unused(held);
        sessions_.empty() ? rest_after_last_session() : go_on_without_it();
    } catch (...) {
        // For want of memory: what was only allowed for this session stays so until another one ends.
    }
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

}  // namespace kinetograph::record
