// The agent as its peers see it: who is answered, who is let go, and what a fork leaves.
#include "agent/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

using namespace kinetograph::agent;
using namespace std::chrono_literals;

namespace {

std::atomic<uint64_t> asking_peer{0};
std::atomic<bool> can_serve{true};

bool note_request(uint64_t peer, std::string) {
    if (can_serve) asking_peer = peer;
    return can_serve;
}

struct Directory {
    Directory() { path = mkdtemp(name); }
    ~Directory() { std::filesystem::remove_all(path); }
    char name[32] = "/tmp/kinetograph-test-XXXXXX";
    std::string path;
};

struct Running {
    Running() : path(Agent::instance().start(directory.path, &note_request)) { asking_peer = 0; }
    ~Running() { Agent::instance().stop(); }
    Directory directory;
    std::string path;
};

class Peer {
public:
    explicit Peer(const std::string& path) { CHECK(knock(path)); }
    Peer() = default;
    // False if nobody is there.
    bool knock(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        return connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    ~Peer() { hang_up(); }
    Peer(Peer&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    void hang_up() {
        if (descriptor_ >= 0) close(descriptor_);
        descriptor_ = -1;
    }
    void say(const std::string& bytes) {
        CHECK(send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size()));
    }
    // Empty when the agent has hung up.
    std::string hear() {
        char header[header_bytes];
        if (recv(descriptor_, header, sizeof header, MSG_WAITALL) != ssize_t(sizeof header)) return {};
        CHECK(std::memcmp(header,
                          "KG\x01"
                          "A",
                          4) == 0);
        uint32_t length = 0;
        for (int i = 4; i < 8; ++i) length = length << 8 | uint8_t(header[i]);
        std::string payload(length, '\0');
        CHECK(recv(descriptor_, payload.data(), length, MSG_WAITALL) == ssize_t(length));
        return payload;
    }
    std::string asked(Kind kind, const std::string& payload = {}) {
        say(framed(kind, payload));
        return hear();
    }

private:
    int descriptor_ = socket(AF_UNIX, SOCK_STREAM, 0);
};

struct DescriptorLimit {
    explicit DescriptorLimit(int most) {
        CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
        const rlimit lower{rlim_t(most), before.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &lower) == 0);
    }
    ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before); }
    rlimit before{};
};

void wait_for_request() {
    while (asking_peer == 0) std::this_thread::sleep_for(1ms);
}

size_t open_descriptors() {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        (void)entry;
        ++count;
    }
    return count;
}

std::vector<int> numbers_in_use() {
    std::vector<int> numbers;
    for (int number = 0; number < 256; ++number)
        if (fcntl(number, F_GETFD) >= 0) numbers.push_back(number);
    return numbers;
}

std::vector<int> new_numbers(const std::vector<int>& before) {
    std::vector<int> found;
    for (const int number : numbers_in_use())
        if (!std::binary_search(before.begin(), before.end(), number)) found.push_back(number);
    return found;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST(status_is_answered_with_what_the_agent_was_told) {
    Running agent;
    Agent::instance().describe(R"("pid":42)");
    Agent::instance().set_step(7);
    CHECK(Peer(agent.path).asked(Kind::status) == R"({"answer":"status","pid":42,"step":7,"state":"idle"})");
}

TEST(the_socket_is_closed_to_others_and_gone_after_the_stop) {
    std::string path;
    {
        Running agent;
        path = agent.path;
        struct stat info{};
        CHECK(stat(path.c_str(), &info) == 0 && (info.st_mode & 0777) == 0600);
        CHECK(Agent::instance().start(agent.directory.path, &note_request) == path);  // the same again
    }
    CHECK(access(path.c_str(), F_OK) != 0);
}

TEST(who_sends_garbage_or_too_much_is_let_go_and_others_are_answered) {
    Running agent;
    for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n"), std::string("KG\x01"
                                                                                    "C\xff\xff\xff\xff")}) {
        Peer stranger(agent.path);
        stranger.say(bytes);
        CHECK(stranger.hear().empty());
    }
    CHECK(contains(Peer(agent.path).asked(Kind::status), "idle"));
}

TEST(half_a_request_is_not_waited_for) {
    Running agent;
    Peer slow(agent.path);
    slow.say(
        "KG\x01"
        "C");
    CHECK(slow.hear().empty());  // after two seconds
}

TEST(more_peers_than_an_agent_takes_are_let_go) {
    Running agent;
    std::vector<Peer> peers;
    for (int i = 0; i < 32; ++i) {
        peers.emplace_back(agent.path);
        CHECK(!peers.back().asked(Kind::status).empty());
    }
    Peer one_more(agent.path);
    CHECK(one_more.hear().empty());
    peers.pop_back();
    for (;;) {  // until the agent has seen that there is room again
        Peer next(agent.path);
        next.say(framed(Kind::status, ""));
        if (!next.hear().empty()) break;
    }
}

TEST(who_reads_no_answers_is_let_go) {
    Running agent;
    Peer deaf(agent.path);
    CHECK(!deaf.asked(Kind::status).empty());
    const std::string request = framed(Kind::status, "");
    std::string many;
    for (int i = 0; i < 500; ++i) many += request;
    const size_t before = open_descriptors();  // both ends among them
    Agent::instance().describe("\"x\":\"" + std::string(8000, 'x') + '"');
    deaf.say(many);
    while (open_descriptors() >= before) std::this_thread::sleep_for(1ms);
    Agent::instance().describe("");
}

TEST(a_process_without_descriptors_for_visitors_rests_and_answers_once_it_has_some) {
    Running agent;
    Peer visitor;
    const int lowest_free = dup(0);
    close(lowest_free);
    {
        const DescriptorLimit none_left(lowest_free);
        CHECK(visitor.knock(agent.path));
        const std::clock_t begin = std::clock();  // of all threads: one that never rests would use all of it
        std::this_thread::sleep_for(400ms);
        CHECK(std::clock() - begin < CLOCKS_PER_SEC / 20);
    }
    CHECK(!visitor.asked(Kind::status).empty());
}

TEST(a_limit_below_what_is_open_already_ends_no_agent) {
    Running agent;
    Peer first, second;
    {
        const DescriptorLimit too_low(1);  // with which poll refuses to wait for two
        CHECK(first.knock(agent.path));
        std::this_thread::sleep_for(50ms);
    }
    CHECK(!first.asked(Kind::status).empty());
    CHECK(second.knock(agent.path) && !second.asked(Kind::status).empty());
}

TEST(a_capture_that_nobody_takes_is_told_of_again_and_again) {
    Running agent;
    Peer peer(agent.path);
    CHECK(contains(peer.asked(Kind::capture, "{}"), "waiting for the interpreter"));
    CHECK(contains(peer.hear(), "waiting for the interpreter"));
    CHECK(contains(Peer(agent.path).asked(Kind::status), "waiting for the interpreter"));
    Agent::instance().end_capture("{}");
}

TEST(there_is_one_capture_at_a_time_and_its_peer_hears_of_it) {
    Running agent;
    Peer peer(agent.path);
    peer.say(framed(Kind::capture, "{}"));
    wait_for_request();
    Agent::instance().take_capture();
    CHECK(contains(Peer(agent.path).asked(Kind::capture, "{}"), "another capture is running"));
    CHECK(Agent::instance().answer(asking_peer, R"({"answer":"started"})"));
    CHECK(contains(peer.hear(), "started"));
    Agent::instance().end_capture(R"({"answer":"finished"})");
    CHECK(contains(peer.hear(), "finished"));
    CHECK(!contains(peer.asked(Kind::capture, "{}"), "refused"));
    Agent::instance().end_capture("{}");
}

TEST(a_last_answer_that_is_too_long_becomes_a_short_one) {
    Running agent;
    Peer peer(agent.path);
    peer.say(framed(Kind::capture, "{}"));
    wait_for_request();
    Agent::instance().take_capture();
    Agent::instance().end_capture(std::string(most_payload_bytes + 1, ' '));
    CHECK(contains(peer.hear(), "too long"));
}

TEST(a_request_that_nobody_can_serve_is_refused) {
    Running agent;
    can_serve = false;
    CHECK(contains(Peer(agent.path).asked(Kind::capture, "{}"), "refused"));
    can_serve = true;
    CHECK(contains(Peer(agent.path).asked(Kind::status), "idle"));
}

TEST(what_ends_a_capture_early_wakes_it) {
    Running agent;
    for (const uint32_t why : {wake_cancelled, wake_peer_gone, wake_poked}) {
        asking_peer = 0;
        Peer peer(agent.path);
        peer.say(framed(Kind::capture, "{}"));
        wait_for_request();
        Agent::instance().take_capture();
        CHECK(Agent::instance().wait(0ns) == 0);
        if (why == wake_cancelled) CHECK(contains(Peer(agent.path).asked(Kind::cancel), "accepted"));
        if (why == wake_peer_gone) peer.hang_up();
        if (why == wake_poked) Agent::instance().poke();
        CHECK(Agent::instance().wait(60s) == why);
        Agent::instance().end_capture("{}");
    }
    CHECK(contains(Peer(agent.path).asked(Kind::cancel), "nothing is being captured"));
}

TEST(one_that_nobody_has_taken_yet_is_cancelled_at_once_and_not_begun) {
    Running agent;
    asking_peer = 0;
    Peer peer(agent.path);
    peer.say(framed(Kind::capture, "{}"));
    wait_for_request();
    CHECK(contains(Peer(agent.path).asked(Kind::cancel), "accepted"));
    CHECK(contains(peer.hear(), "cancelled"));
    CHECK(contains(peer.asked(Kind::capture, "{}"), "another capture is running"));
    CHECK(!Agent::instance().take_capture());
    Agent::instance().end_capture(R"({"answer":"told already"})");
    CHECK(contains(peer.asked(Kind::status), "idle"));
}

TEST(one_that_nobody_has_taken_when_its_peer_goes_is_not_begun) {
    Running agent;
    asking_peer = 0;
    Peer peer(agent.path);
    peer.say(framed(Kind::capture, "{}"));
    wait_for_request();
    peer.hang_up();
    CHECK(Agent::instance().wait(60s) == wake_peer_gone);
    CHECK(!Agent::instance().take_capture());
    Agent::instance().end_capture("{}");
}

TEST(at_the_end_of_the_process_a_capture_is_waited_for_and_none_begins) {
    Running agent;
    Peer peer(agent.path);
    peer.say(framed(Kind::capture, "{}"));
    wait_for_request();
    std::thread worker([] {
        CHECK(Agent::instance().wait(60s) == wake_ending);
        Agent::instance().end_capture("{}");
    });
    CHECK(Agent::instance().end_captures(60s));
    worker.join();
    CHECK(contains(Peer(agent.path).asked(Kind::capture, "{}"), "ending"));
}

TEST(a_forked_child_has_no_agent_until_it_starts_one_and_the_parent_goes_on) {
    Running agent;
    Peer open(agent.path);
    CHECK(!open.asked(Kind::status).empty());
    const pid_t child = fork();
    if (child == 0) {
        const bool left_alone = Agent::instance().path().empty() && access(agent.path.c_str(), F_OK) == 0;
        const std::string own = Agent::instance().start(agent.directory.path, &note_request);
        const bool answers = contains(Peer(own).asked(Kind::status), "status");
        Agent::instance().stop();
        _exit(left_alone && own != agent.path && answers ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(!open.asked(Kind::status).empty());  // the connection from before, too
    CHECK(!Peer(agent.path).asked(Kind::status).empty());
}

TEST(a_program_that_closes_all_descriptors_gets_a_new_socket_with_the_next_knock) {
    Running agent;
    const std::string before = agent.path;
    {
        Peer first(before);
        CHECK(!first.asked(Kind::status).empty());
    }
    // Not by close and open: sanitizers rightly call it a race, and it is the one that this test is about.
    for (int descriptor = 3; descriptor < 256; ++descriptor) syscall(SYS_close, descriptor);
    std::vector<int> strangers;  // files of the program, with the numbers that were ours
    for (int i = 0; i < 16; ++i) strangers.push_back(int(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR)));
    // Who sleeps in poll still has the old socket, and wakes up by this; who did not has seen it already.
    Peer visitor;
    visitor.knock(before);
    while (Agent::instance().path() == before) std::this_thread::sleep_for(1ms);
    CHECK(!Peer(Agent::instance().path()).asked(Kind::status).empty());
    for (const int stranger : strangers)
        CHECK(fcntl(stranger, F_GETFD) >= 0 && syscall(SYS_close, stranger) == 0);
}

TEST(a_socket_whose_file_is_removed_gets_another_and_who_is_connected_stays) {
    Running agent;
    Peer connected(agent.path);
    CHECK(!connected.asked(Kind::status).empty());
    const size_t before = open_descriptors();
    CHECK(std::filesystem::remove_all(agent.directory.path) > 0);  // with the directory that it lay in
    Agent::instance().look_after_file_every(1ms);
    while (Agent::instance().path() == agent.path) std::this_thread::sleep_for(1ms);
    CHECK(!Peer(Agent::instance().path()).asked(Kind::status).empty());
    CHECK(!connected.asked(Kind::status).empty());
    while (open_descriptors() != before) std::this_thread::sleep_for(1ms);
    Agent::instance().look_after_file_every(60s);
}

TEST(a_directory_that_others_can_enter_by_now_gets_no_socket) {
    Running agent;
    CHECK(std::filesystem::remove(agent.path));
    CHECK(chmod(agent.directory.path.c_str(), 0755) == 0);
    Agent::instance().look_after_file_every(1ms);
    std::this_thread::sleep_for(50ms);  // some looks
    CHECK(Agent::instance().path() == agent.path && std::filesystem::is_empty(agent.directory.path));
    CHECK(chmod(agent.directory.path.c_str(), 0700) == 0);
    while (Agent::instance().path() == agent.path) std::this_thread::sleep_for(1ms);
    Agent::instance().look_after_file_every(60s);
}

TEST(a_file_of_the_program_that_got_the_number_of_a_peer_is_left_alone) {
    Running agent;
    Peer visitor;
    const std::vector<int> before = numbers_in_use();
    CHECK(visitor.knock(agent.path) && !visitor.asked(Kind::status).empty());
    const std::vector<int> of_agent = new_numbers(before);
    CHECK(of_agent.size() == 1);
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(syscall(SYS_dup3, ends[1], of_agent[0], 0) == of_agent[0]);
    CHECK(!Peer(agent.path).asked(Kind::status).empty());  // so it has looked at its peers again
    Agent::instance().stop();
    CHECK(write(of_agent[0], "x", 1) == 1);
    for (const int number : {ends[0], ends[1], of_agent[0]}) CHECK(close(number) == 0);
}

TEST(a_socket_that_is_opened_again_leaves_no_descriptor_behind) {
    for (size_t closed = 0; closed < 3; ++closed) {  // the socket, and both ends of the pipe
        Peer visitor;                                // first, or it would get the number that is closed
        const std::vector<int> before = numbers_in_use();
        Running agent;
        CHECK(new_numbers(before).size() == 3);
        syscall(SYS_close, new_numbers(before)[closed]);
        visitor.knock(agent.path);
        while (Agent::instance().path() == agent.path) std::this_thread::sleep_for(1ms);
        visitor.hang_up();
        CHECK(!Peer(Agent::instance().path()).asked(Kind::status).empty());
        while (new_numbers(before).size() != 3) std::this_thread::sleep_for(1ms);
    }
}

CHECK_MAIN
