// Sessions: who records when. Everything here runs under one lock and off the hot path.
//
// All sessions share the threads' buffers. A session is a window of time and a set of threads; stopping it
// takes the records of its window and leaves the rest to the others.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "base/visibility.h"
#include "record/config.h"
#include "record/given_names.h"
#include "record/journal.h"
#include "record/memory.h"
#include "record/recording.h"
#include "record/session_file.h"
#include "record/thread_buffer.h"

namespace kinetograph::record {

using SessionId = uint64_t;

inline constexpr size_t least_string_limit = 4 << 20;
inline constexpr size_t strings_worth_forgetting = least_string_limit / 4;

struct SessionInfo {
    SessionId id = 0;
    int32_t owner_tid = 0;
    bool all_threads = false;
};

class KINETOGRAPH_API Recorder {
public:
    // Never destroyed: threads may record while the process exits.
    static Recorder& instance();

    // Throws std::system_error when a session directory cannot be used.
    SessionId start(const SessionOptions& options);
    // Ahead of a stop: a ring keeps what it has now, so that what devices have done, and tell late, is not
    // taken for what is newest.
    void hold_ring(SessionId id, bool is_held);
    // Throws std::out_of_range for a session that does not run in this process.
    Recording stop(SessionId id);
    // Lets the calling thread take part in a session of chosen threads.
    bool join(SessionId id);
    bool leave(SessionId id);
    // Between the two nothing is kept, but scopes are followed: one that is open across a pause is one event.
    // False when there is nothing to do. From any thread.
    bool pause(SessionId id);
    bool resume(SessionId id);
    // Lets the calling thread take part in all sessions, those that run and those to come, because it records
    // on behalf of other threads.
    void serve_all();
    // Until sessions that are beginning, or going on, have told all threads.
    void wait_for_starts();

    std::vector<SessionInfo> sessions() const;
    bool is_running(SessionId id) const;

    base::StringTable& strings() { return strings_; }
    uint32_t intern(std::string_view text) { return strings_.intern(text); }
    // Names the calling thread in the traces of every session that sees it, unless it was given a name.
    void suggest_thread_name(std::string_view name);
    // The same for any thread that has recorded something. False where there is none of this number.
    bool suggest_thread_name(int32_t tid, std::string_view name);
    // Gives any thread of this process a name, also one that has recorded nothing yet. An empty one takes it
    // back.
    void give_thread_name(int32_t tid, std::string_view name);
    void set_lane_name(uint16_t lane, std::string_view name);
    // Names this process in the traces of sessions, also in those of forked children until they set their
    // own.
    void set_process_name(std::string_view name);
    // The interpreter ends in good order: a session file that is left then tells no crash. Forked children
    // must have their own.
    void mark_end();

    // What one recorded scope costs here, measured once: for the note on the cost of recording.
    static double scope_cost_ns();

    size_t thread_count() const;
    size_t memory_bytes() const;

    // The slow paths of thread_buffer.h.
    ThreadBuffer& register_thread();
    void thread_exits(ThreadBuffer* thread);
    void refresh_control(ThreadBuffer& thread);
    bool next_extent(ThreadBuffer& thread, uint32_t units);
    bool grow_stack(ThreadBuffer& thread, Lane& lane);
    bool grow_told(ThreadBuffer& thread, size_t bytes);
    Lane* add_lane(ThreadBuffer& thread);
    // Lets a thread that discards keep something that began at this wall time; false when no session wants
    // it.
    bool keep_in_pause(ThreadBuffer& thread, int64_t start_ns);
    void discard_again(ThreadBuffer& thread);
    void count_dropped_without_a_buffer();
    void take_memory_to_be_exhausted() { pool_.take_to_be_exhausted(); }

private:
    enum class Part { none, recording, paused };
    struct Membership {
        Part part = Part::none;
        std::vector<Window> windows;
        Losses at_join;
        std::vector<OpenScopeCopy> open_at_leave;
        size_t left_last = 0;  // how many of them were open when it left last; they are at the end
        std::unordered_map<uint64_t, LeftOpenItem*> journalled;  // the same in a session file, by start
    };
    struct Session {
        SessionId id = 0;
        SessionOptions options;
        int32_t owner_tid = 0;
        base::MeasuredAnchor start;
        uint64_t names_refused_before = 0, names_shortened_before = 0, unrecorded_before = 0;
        uint64_t dropped_before = 0;   // by threads without a buffer
        uint64_t keep_from = 0;        // older records are no longer wanted
        uint64_t ring_held_at = 0;     // what its ring had then it keeps; 0: it lets go
        size_t ring_held_bytes = 0;    // which was so much
        uint64_t recording_since = 0;  // its start, or the last resume
        bool is_paused = false;
        int64_t paused_at_ns = 0;  // wall time
        bool has_begun = true;     // false before the first resume of one that starts paused
        std::vector<Window> pauses;
        std::map<ThreadBuffer*, Membership> members;
        Losses losses_of_forgotten;  // of threads that have died since
    };
    using Sessions = std::map<SessionId, Session>;
    // What a recording needs until it is released.
    struct Held {
        std::vector<ExtentRef> records, journal;
        std::unique_ptr<SessionFile> file;
    };
    // An extent that is complete, and when that was.
    struct Filled {
        ThreadBuffer* thread;
        size_t bytes;
        uint64_t at;
    };

    Recorder();
    void take_in(Session& session, SessionId id, const SessionOptions& options, ThreadBuffer& caller);
    void abandon(SessionId id, const SessionOptions& options) noexcept;
    void end(Sessions::iterator session, bool is_of_file, uint64_t at, Held& held) noexcept;
    void add_member(Session& session, ThreadBuffer& thread, uint64_t from);
    void introduce(ThreadBuffer& thread);
    void begin(Session& session);
    void open_window(ThreadBuffer& thread, Membership& membership, uint64_t from);
    void close_window(const Session& session, ThreadBuffer& thread, Membership& membership, uint64_t at,
                      Part next);
    void set_part(ThreadBuffer& thread, Membership& membership, Part part);
    void settle(ThreadBuffer& thread);
    void apply_limits();
    void go_on_without_it();
    void open_session_file(const std::string& directory);
    void close_session_file_if_unused(Held& held);
    void move_to_new_memory(ThreadBuffer& thread);
    void move_all_to_new_memory();
    void journal_string(uint32_t id, std::string_view text);
    void journal_pauses(uint64_t at);
    void journal_open(const ThreadBuffer& thread, Membership& membership,
                      const std::vector<OpenScopeCopy>& open);
    void count_in_file(ThreadBuffer& thread, ExtentRef losses);
    void count_in_header(ThreadBuffer& thread);
    bool may_have_memory(const ThreadBuffer& thread) const;
    static void rename(ThreadBuffer& thread, std::string_view name);
    bool take_over_name(ThreadBuffer& thread);
    void write_thread_name(ThreadBuffer& thread);
    void let_go_of(const Held& held);
    void give_back(Held& held, bool is_lost);
    ExtentRef open_extent(ExtentKind kind, uint32_t units);
    bool forget_oldest();
    ExtentRef open_records(ThreadBuffer& thread, uint32_t units);
    void fill(ThreadBuffer& thread);
    void set_extent_aside(ThreadBuffer& thread);
    void take_extent_back(ThreadBuffer& thread);
    void forget_open_scopes(ThreadBuffer& thread);
    void move_thread(ThreadBuffer& thread);
    bool move_stack(const ThreadBuffer& thread, Lane& lane, uint32_t units);
    bool move_told(ThreadBuffer& thread, uint32_t units);
    void drop(ExtentRef& extent);
    void advance_rings();
    static size_t ring_room(const Session& session);
    void advance_ring(Session& session);
    void trim();
    void forget_dead_threads(uint64_t keep_from);
    void leave_all(ThreadBuffer& thread);
    void rest_after_last_session();
    Recording gather_all(Session& session, const base::MeasuredAnchor& stop,
                         std::vector<ExtentRef>& retained);
    ThreadRecording gather(ThreadBuffer& thread, Membership& membership, const Window& window,
                           std::vector<ExtentRef>& retained);
    uint64_t unrecorded_scopes() const;
    void note_losses(const Session& session, Recording& recording) const;

    static void before_fork();
    static void after_fork_in_parent();
    static void after_fork_in_child();
    void start_clean_in_child();

    mutable std::mutex mutex_;
    base::StringTable strings_;
    SlabPool pool_{mutex_};
    Sessions sessions_;
    SessionId next_session_ = 1;
    std::unordered_map<uint32_t, std::unique_ptr<ThreadBuffer>> threads_;
    uint32_t next_thread_ = 1;
    std::vector<ThreadBuffer*> dead_threads_;                    // that sessions or their extents still need
    std::unordered_map<int32_t, ThreadBuffer*> living_threads_;  // by tid
    GivenNames given_names_;
    std::deque<Filled> filled_;
    std::atomic<bool> only_rings_{false};  // all sessions are, so that what is old may go
    size_t extent_bytes_ = 0;
    uint64_t unrecorded_by_dead_threads_ = 0;
    std::atomic<uint64_t> dropped_without_a_buffer_{0};
    int leases_ = 0;  // recordings that still read strings
    std::string process_name_;
    std::unique_ptr<SessionFile> session_file_;
    int session_file_users_ = 0;  // sessions that need it, also those about to start
    Journal journal_{pool_};
    uint64_t names_refused_before_file_ = 0, names_shortened_before_file_ = 0;
    pthread_key_t exit_key_{};
};

// The buffer of the calling thread, which from then on serves all sessions, if there is one; while all of
// them are paused, it discards. Want of memory is no error: it is tried again at the next call. Asked for
// behind what is to be told was taken, so that nothing of a session falls to a thread that had not heard of
// it.
KINETOGRAPH_API ThreadBuffer* serving_thread() noexcept;

// A sentence for the trace, told by the calling thread. With a count, those of one text are summed up.
KINETOGRAPH_API void tell_note(ThreadBuffer& thread, std::string_view kind, std::string_view text,
                               uint32_t count = 0);

}  // namespace kinetograph::record
