#include "agent/agent.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/fork.h"
#include "base/quiet_thread.h"

namespace kinetograph::agent {

namespace {

using namespace std::chrono_literals;

constexpr size_t most_peers = 32;
// For the rest of a frame, and for the next one. Whoever is slower is let go.
constexpr auto patience_within_frame = 2s;
constexpr auto patience_between_frames = 30s;
// Whoever waits for a capture hears something as often, whatever the program does with its GIL.
constexpr auto progress_is_told_every = 500ms;
// Where the process has no memory, or no descriptor left for a visitor.
constexpr auto try_again_after = 100ms;
// Whoever removes files that seem to be forgotten thinks in days. To wake up so seldom costs nothing.
constexpr auto file_is_looked_for_every = 60s;

constexpr std::string_view busy = R"({"answer":"refused","reason":"another capture is running"})";
constexpr std::string_view unserved = R"({"answer":"refused","reason":"the process can start no thread"})";
constexpr std::string_view ending = R"({"answer":"refused","reason":"the process is ending"})";
constexpr std::string_view idle = R"({"answer":"refused","reason":"nothing is being captured"})";
constexpr std::string_view too_long = R"({"answer":"failed","reason":"the answer is too long to be sent"})";
constexpr std::string_view cancelling = R"({"answer":"accepted"})";
constexpr std::string_view cancelled = R"({"answer":"cancelled","reason":"cancelled"})";

// Of a capture that nobody has taken when it was cancelled: it may be long until somebody does.
constexpr uint64_t answered_peer = UINT64_MAX;

int to_poll_ms(Agent::Clock::time_point deadline, Agent::Clock::time_point now) {
    if (deadline == Agent::Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    return int(std::max<int64_t>(left, 0));
}

}  // namespace

Agent& Agent::instance() {
    static Agent& agent = *new Agent;
    return agent;
}

Agent::Agent() : look_every_(file_is_looked_for_every) {
    base::on_fork([] { instance().before_fork(); }, [] { instance().after_fork_in_parent(); },
                  [] { instance().after_fork_in_child(); });
}

std::string Agent::start(const std::string& directory, OnCapture on_capture) {
    std::scoped_lock lock(thread_mutex_, mutex_);
    if (is_started_) return listener_.path();
    remove_stale(directory);
    Listener listener(directory);
    if (!waker_.is_intact() && !waker_.open()) {
        const int error = errno;
        listener.remove_file();
        throw std::system_error(error, std::generic_category(), "pipe");
    }
    listener_ = std::move(listener);
    directory_ = directory;
    look_next_ = Clock::now() + look_every_;
    on_capture_ = on_capture;
    takes_captures_ = true;
    try {
        start_thread();
    } catch (...) {
        listener_.remove_file();
        listener_.close();
        throw;
    }
    is_started_ = true;
    return listener_.path();
}

void Agent::stop() {
    std::lock_guard thread_lock(thread_mutex_);
    end_thread();
    std::lock_guard lock(mutex_);
    while (!peers_.empty()) drop(peers_.begin());
    listener_.remove_file();
    listener_.close();
    waker_.close();
    is_started_ = false;
}

std::string Agent::path() const {
    std::lock_guard lock(mutex_);
    return listener_.path();
}

void Agent::look_after_file_every(Clock::duration time) {
    std::lock_guard lock(mutex_);
    look_every_ = time;
    look_next_ = Clock::now() + time;
    waker_.wake();
}

void Agent::describe(std::string members) {
    std::lock_guard lock(mutex_);
    described_ = std::move(members);
}

void Agent::set_step(int64_t step) {
    std::lock_guard lock(mutex_);
    step_ = step;
}

void Agent::set_state(std::string_view state) {
    std::lock_guard lock(mutex_);
    state_ = state;
    state_since_ = Clock::now();
}

// The thread

void Agent::start_thread() {
    thread_ = base::start_quietly("kg-agent", [this, generation = generation_] { run(generation); });
}

void Agent::end_thread() {
    if (!thread_.joinable()) return;
    bool can_wake = false;
    {
        std::lock_guard lock(mutex_);
        ++generation_;
        can_wake = waker_.is_intact();
        waker_.wake();
    }
    // Where the program has closed its pipe, it sleeps until somebody knocks, and ends then.
    can_wake ? thread_.join() : thread_.detach();
}

void Agent::run(uint64_t generation) {
    std::vector<pollfd> polled;
    std::vector<uint64_t> ids;
    int timeout_ms = -1;
    while (prepare_poll(generation, polled, ids, timeout_ms)) {
        const int ready = poll(polled.data(), polled.size(), timeout_ms);
        // No memory, or a limit on descriptors that is lower than their number: both may pass.
        if (ready < 0 && errno != EINTR) std::this_thread::sleep_for(try_again_after);
        serve(generation, polled, ids);
    }
}

// False when the thread shall end.
bool Agent::prepare_poll(uint64_t generation, std::vector<pollfd>& polled, std::vector<uint64_t>& ids,
                         int& timeout_ms) {
    std::lock_guard lock(mutex_);
    if (generation != generation_) return false;
    const Clock::time_point now = Clock::now();
    drop_late_peers(now);
    tell_progress(now);
    look_after_file(now);
    const int listening = now < accepts_from_ ? -1 : listener_.descriptor();  // poll leaves -1 out
    polled = {{waker_.descriptor(), POLLIN, 0}, {listening, POLLIN, 0}};
    ids.clear();
    for (const auto& [id, peer] : peers_) {
        polled.push_back({peer.descriptor, POLLIN, 0});
        ids.push_back(id);
    }
    timeout_ms = to_poll_ms(next_deadline(now), now);
    return true;
}

void Agent::serve(uint64_t generation, const std::vector<pollfd>& polled, const std::vector<uint64_t>& ids) {
    std::lock_guard lock(mutex_);
    if (generation != generation_) return;
    if (!is_intact()) {
        if (!reopen()) ++generation_;
        return;
    }
    waker_.drain();
    for (size_t i = 0; i < ids.size(); ++i) {
        const auto peer = peers_.find(ids[i]);
        if (polled[i + 2].revents == 0 || peer == peers_.end()) continue;
        hear(peer->first, peer->second);
        if (peer->second.is_to_be_dropped) drop(peer);
    }
    if (polled[1].revents != 0) accept_peers();
}

// Whether the program has left alone what it does not know. Those that become daemons close it all, and what
// has our numbers then is not ours to close.
bool Agent::is_intact() const {
    return waker_.is_intact() && listener_.is_intact();
}

bool Agent::reopen() {
    while (!peers_.empty()) drop(peers_.begin());
    try {
        listener_.remove_file();
        listener_ = Listener(directory_);
        return waker_.is_intact() || waker_.open();
    } catch (const std::system_error&) {
        return false;
    }
}

// Nobody finds us without it. Those who are connected notice nothing.
void Agent::look_after_file(Clock::time_point now) {
    if (now < look_next_) return;
    look_next_ = now + look_every_;
    if (!listener_.is_intact() || listener_.has_file()) return;
    try {
        make_own_directory(directory_);
        listener_ = Listener(directory_);
    } catch (const std::system_error&) {
        // The next time.
    }
}

// Peers

Agent::Peer::Peer(int accepted) : descriptor(accepted), identity(base::identity_of(accepted)) {}

void Agent::Peer::close() const {
    if (is_intact()) ::close(descriptor);
}

void Agent::accept_peers() {
    for (int descriptor = listener_.accept_own_user(); descriptor >= 0;
         descriptor = listener_.accept_own_user()) {
        if (peers_.size() >= most_peers) {
            close(descriptor);
            continue;
        }
        peers_.emplace(++last_peer_, Peer(descriptor));
    }
    // Whoever waits stays ready, and poll would come back at once, again and again.
    if (errno != EAGAIN) accepts_from_ = Clock::now() + try_again_after;
}

void Agent::hear(uint64_t id, Peer& peer) {
    char bytes[4096];
    const ssize_t count = peer.is_intact() ? recv(peer.descriptor, bytes, sizeof bytes, MSG_DONTWAIT) : 0;
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        peer.is_to_be_dropped = true;
        return;
    }
    // Not for every byte of a frame: who sends one a second would stay for ever.
    if (!peer.reader.is_within_frame()) peer.heard = Clock::now();
    peer.reader.feed({bytes, size_t(count)});
    Frame frame;
    auto found = peer.reader.next(frame);
    for (; found == FrameReader::Found::frame; found = peer.reader.next(frame)) {
        peer.heard = Clock::now();
        handle(id, frame);
    }
    if (found == FrameReader::Found::garbage) peer.is_to_be_dropped = true;
}

void Agent::handle(uint64_t id, const Frame& frame) {
    if (frame.kind == Kind::status) send(id, status());
    if (frame.kind == Kind::capture) handle_capture(id, frame.payload);
    if (frame.kind == Kind::cancel) handle_cancel(id);
}

void Agent::handle_capture(uint64_t id, const std::string& request) {
    if (!takes_captures_) {
        send(id, ending);
        return;
    }
    if (capturing_peer_) {
        send(id, busy);
        return;
    }
    capturing_peer_ = id;
    is_taken_ = false;
    wakes_ = 0;
    state_since_ = Clock::now();
    tell_next_ = state_since_ + progress_is_told_every;
    if (on_capture_(id, request)) return;
    capturing_peer_ = 0;
    send(id, unserved);
}

void Agent::handle_cancel(uint64_t id) {
    if (capturing_peer_) wake_capture(wake_cancelled);
    send(id, capturing_peer_ ? cancelling : idle);
    if (!capturing_peer_ || is_taken_) return;
    send(capturing_peer_, cancelled);
    capturing_peer_ = answered_peer;
}

std::string Agent::status() const {
    return R"({"answer":"status",)" + described_ + (described_.empty() ? "" : ",") + state_members() + "}";
}

std::string Agent::state_members() const {
    const bool waits = capturing_peer_ && !is_taken_;
    return R"("step":)" + std::to_string(step_) + R"(,"state":")" +
           (waits ? "waiting for the interpreter" : state_) + '"';
}

void Agent::tell_progress(Clock::time_point now) {
    if (!capturing_peer_ || now < tell_next_) return;
    tell_next_ = now + progress_is_told_every;
    const auto elapsed = std::chrono::nanoseconds(now - state_since_).count();
    send(capturing_peer_,
         R"({"answer":"progress",)" + state_members() + R"(,"elapsed_ns":)" + std::to_string(elapsed) + "}");
}

void Agent::drop_late_peers(Clock::time_point now) {
    for (auto peer = peers_.begin(); peer != peers_.end();) {
        const auto at = peer++;
        const Peer& whose = at->second;
        if (whose.is_to_be_dropped || !whose.is_intact() ||
            now - whose.heard >= patience_with(at->first, whose))
            drop(at);
    }
}

void Agent::drop(Peers::iterator peer) {
    peer->second.close();
    if (peer->first == capturing_peer_) wake_capture(wake_peer_gone);
    peers_.erase(peer);
}

// Whoever waits for a capture has nothing to say.
Agent::Clock::duration Agent::patience_with(uint64_t id, const Peer& peer) const {
    if (peer.reader.is_within_frame()) return patience_within_frame;
    return id == capturing_peer_ ? Clock::duration::max() : patience_between_frames;
}

Agent::Clock::time_point Agent::next_deadline(Clock::time_point now) const {
    auto next = now < accepts_from_ ? accepts_from_ : Clock::time_point::max();
    next = std::min(next, look_next_);
    for (const auto& [id, peer] : peers_) {
        const Clock::duration patience = patience_with(id, peer);
        if (patience != Clock::duration::max()) next = std::min(next, peer.heard + patience);
    }
    if (capturing_peer_) next = std::min(next, tell_next_);
    return next;
}

// A peer that leaves so much unread that there is no room for an answer is let go.
bool Agent::send(uint64_t id, std::string_view json) {
    const auto peer = peers_.find(id);
    if (peer == peers_.end() || peer->second.is_to_be_dropped) return false;
    const std::string bytes = framed(Kind::answer, json);
    const ssize_t sent = peer->second.is_intact() ? ::send(peer->second.descriptor, bytes.data(),
                                                           bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                                                  : -1;
    if (sent == ssize_t(bytes.size())) return true;
    peer->second.is_to_be_dropped = true;
    waker_.wake();
    return false;
}

// Captures

bool Agent::answer(uint64_t peer, std::string_view json) {
    std::lock_guard lock(mutex_);
    return json.size() <= most_payload_bytes && waker_.is_intact() && send(peer, json);
}

bool Agent::take_capture() {
    std::lock_guard lock(mutex_);
    is_taken_ = true;
    return (wakes_ & (wake_cancelled | wake_peer_gone)) == 0;
}

uint32_t Agent::wait(std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    changed_->wait_for(lock, most, [this] { return wakes_ != 0; });
    const uint32_t why = wakes_;
    wakes_ &= ~uint32_t(wake_poked);
    return why;
}

void Agent::poke() {
    std::lock_guard lock(mutex_);
    wake_capture(wake_poked);
}

void Agent::wake_capture(uint32_t why) {
    wakes_ |= why;
    changed_->notify_all();
}

void Agent::end_capture(std::string_view last_answer) {
    std::lock_guard lock(mutex_);
    if (waker_.is_intact())
        send(capturing_peer_, last_answer.size() <= most_payload_bytes ? last_answer : too_long);
    capturing_peer_ = 0;
    state_ = "idle";
    changed_->notify_all();
    waker_.wake();  // its peer has to be patient no more
}

bool Agent::end_captures(std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    takes_captures_ = false;
    wake_capture(wake_ending);
    return changed_->wait_for(lock, most, [this] { return capturing_peer_ == 0; });
}

// Fork. The thread ends before it, for Python warns of threads then.

void Agent::go_on() {
    std::scoped_lock lock(thread_mutex_, mutex_);
    caller_goes_on_ = false;
    if (!is_started_ || thread_.joinable()) return;
    try {
        if (is_intact() || reopen()) start_thread();
    } catch (const std::system_error&) {
        listener_.remove_file();  // nobody would answer there
    }
}

void Agent::before_fork() {
    thread_mutex_.lock();
    end_thread();
    mutex_.lock();
}

void Agent::after_fork_in_parent() {
    mutex_.unlock();
    thread_mutex_.unlock();
    if (!caller_goes_on_) go_on();
}

void Agent::after_fork_in_child() {
    (void)changed_.release();  // leaked: destroying one that somebody waits at may wait for ever
    changed_ = std::make_unique<std::condition_variable>();
    for (const auto& [id, peer] : peers_) peer.close();
    peers_.clear();
    listener_.leave_file();
    listener_.close();
    waker_.close();
    is_started_ = false;
    caller_goes_on_ = false;
    capturing_peer_ = 0;
    wakes_ = 0;
    state_ = "idle";
    mutex_.unlock();
    thread_mutex_.unlock();
}

}  // namespace kinetograph::agent
