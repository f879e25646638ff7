// The agent: a thread that waits at a socket for those who want to look into this process.
//
// It knows no Python and never takes the GIL. What it can, it answers itself: who this is, and that a request
// has to wait. A capture it hands on to a function that must not wait either; whoever makes the capture then
// talks to it through `answer` and `wait`.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/frame.h"
#include "agent/listener.h"
#include "agent/waker.h"

struct pollfd;

namespace kinetograph::agent {

// Why `wait` came back; several may be true at once. All but `poked` stay true until the capture ends.
enum Wake : uint32_t {
    wake_poked = 1,
    wake_cancelled = 2,
    wake_peer_gone = 4,
    wake_ending = 8,  // the process is
};

class KINETOGRAPH_API Agent {
public:
    using Clock = std::chrono::steady_clock;
    // Called by the agent's thread. False if nobody can serve the request now.
    using OnCapture = bool (*)(uint64_t peer, std::string request);

    static Agent& instance();  // of the process; never destroyed

    // Gives the path of the socket; one that runs already goes on. Throws std::system_error.
    std::string start(const std::string& directory, OnCapture on_capture);
    void stop();
    std::string path() const;
    // How often the file of the socket is looked for, and made again where it is gone: for tests.
    void look_after_file_every(Clock::duration time);

    // What `status` is answered: members of a JSON object, without the braces.
    void describe(std::string members);
    void set_step(int64_t step);
    void set_state(std::string_view state);

    // For whoever makes the capture. False if the peer is gone, or the answer longer than a frame.
    bool answer(uint64_t peer, std::string_view json);
    // False if nobody wants it any more; it has to be ended all the same.
    bool take_capture();
    uint32_t wait(std::chrono::nanoseconds most);
    void poke();
    // With its last answer, so that whoever hears it can ask for another capture at once. One that is longer
    // than a frame becomes a short one that says so.
    void end_capture(std::string_view last_answer);

    // At the end of the process: no capture begins any more, and the one that runs ends soon. False if it did
    // not within this time.
    bool end_captures(std::chrono::nanoseconds most);

    // A fork by somebody who calls `go_on` once it is over, in the parent. Python counts threads before that.
    void expect_fork() { caller_goes_on_ = true; }
    void go_on();

private:
    struct Peer {
        explicit Peer(int accepted);
        // False after the program has closed it: what has its number then is not ours to read, write or
        // close.
        bool is_intact() const { return base::identity_of(descriptor) == identity; }
        void close() const;

        int descriptor;
        base::FileIdentity identity;
        FrameReader reader;
        Clock::time_point heard = Clock::now();
        bool is_to_be_dropped = false;
    };
    using Peers = std::map<uint64_t, Peer>;

    Agent();
    void start_thread();
    void end_thread();
    void run(uint64_t generation);
    bool prepare_poll(uint64_t generation, std::vector<pollfd>& polled, std::vector<uint64_t>& ids,
                      int& timeout_ms);
    void serve(uint64_t generation, const std::vector<pollfd>& polled, const std::vector<uint64_t>& ids);
    bool is_intact() const;
    bool reopen();
    void look_after_file(Clock::time_point now);
    void accept_peers();
    void hear(uint64_t id, Peer& peer);
    void handle(uint64_t id, const Frame& frame);
    void handle_capture(uint64_t id, const std::string& request);
    void handle_cancel(uint64_t id);
    std::string status() const;
    std::string state_members() const;
    void tell_progress(Clock::time_point now);
    void drop_late_peers(Clock::time_point now);
    void drop(Peers::iterator peer);
    Clock::duration patience_with(uint64_t id, const Peer& peer) const;
    Clock::time_point next_deadline(Clock::time_point now) const;
    bool send(uint64_t id, std::string_view json);
    void wake_capture(uint32_t why);

    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

    std::mutex thread_mutex_;  // for starting and ending the thread; taken before the other
    mutable std::mutex mutex_;
    // On the heap: one that a thread waited at is of no use in a forked child.
    std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
    std::thread thread_;
    Waker waker_;
    Listener listener_;
    std::string directory_;
    Clock::duration look_every_;
    Clock::time_point look_next_{};
    OnCapture on_capture_ = nullptr;
    bool is_started_ = false;
    uint64_t generation_ = 0;  // a thread of an earlier one ends
    bool takes_captures_ = true;
    std::atomic<bool> caller_goes_on_ = false;  // set and read without a lock, around a fork

    Peers peers_;
    uint64_t last_peer_ = 0;
    Clock::time_point accepts_from_{};  // none before: the process has no descriptor left for them

    std::string described_;
    std::string state_ = "idle";
    Clock::time_point state_since_{};
    int64_t step_ = 0;

    uint64_t capturing_peer_ = 0;  // 0: nobody; `answered_peer`: one that has had its last answer
    bool is_taken_ = false;
    uint32_t wakes_ = 0;
    Clock::time_point tell_next_{};
};

}  // namespace kinetograph::agent
