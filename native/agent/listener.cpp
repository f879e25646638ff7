#include "agent/listener.h"

#include <dirent.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

namespace kinetograph::agent {

namespace {

constexpr int backlog = 64;

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

// Another process may have had this pid, or has it in another namespace: so the name is never met twice.
std::string new_name() {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = uint32_t(std::time(nullptr));
    char name[48];
    std::snprintf(name, sizeof name, "agent-%d-%08x.sock", int(getpid()), number);
    return name;
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) fail(ENAMETOOLONG, path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

// Nobody listens there. One that lives may be in another namespace of pids.
bool is_refused(const std::string& path) {
    const int visitor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (visitor < 0) return false;
    const sockaddr_un address = address_of(path);
    const bool is_connected =
        connect(visitor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const bool refused = !is_connected && errno == ECONNREFUSED;
    close(visitor);
    return refused;
}

// Whose socket it is, of one that listens or of one that has not come to that; 0: it is none of ours.
int pid_in_name(const char* name) {
    int pid = 0;
    const bool is_ours = std::sscanf(name[0] == '.' ? name + 1 : name, "agent-%d-", &pid) == 1;
    return is_ours && pid > 0 ? pid : 0;
}

// One that is about to listen refuses connections as well, and may belong to a process that we cannot see.
bool may_come_to_listen(const std::string& path) {
    constexpr time_t most_seconds = 60;
    struct stat found{};
    return lstat(path.c_str(), &found) == 0 && std::time(nullptr) - found.st_mtime < most_seconds;
}

}  // namespace

void make_own_directory(const std::string& directory) {
    if (mkdir(directory.c_str(), 0700) != 0 && errno == ENOENT) {
        mkdir(directory.substr(0, directory.rfind('/')).c_str(), 0700);
        mkdir(directory.c_str(), 0700);
    }
    struct stat found{};
    if (lstat(directory.c_str(), &found) != 0) fail(errno, directory);
    if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 077) != 0)
        fail(EACCES, directory);
}

void remove_stale(const std::string& directory) {
    DIR* opened = opendir(directory.c_str());
    if (!opened) return;
    while (const dirent* entry = readdir(opened)) {
        const int pid = pid_in_name(entry->d_name);
        if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
        const std::string path = directory + "/" + entry->d_name;
        if (entry->d_name[0] == '.' && may_come_to_listen(path)) continue;
        if (is_refused(path)) unlink(path.c_str());
    }
    closedir(opened);
}

// It gets its name when it listens: one that refuses connections belongs to nobody, and may be removed.
Listener::Listener(const std::string& directory) {
    const std::string name = new_name();
    const std::string unready = directory + "/." + name;
    const sockaddr_un address = address_of(unready);
    descriptor_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor_ < 0) fail(errno, "socket");
    identity_ = base::identity_of(descriptor_);
    const std::string path = directory + "/" + name;
    if (bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        chmod(unready.c_str(), 0600) != 0 || listen(descriptor_, backlog) != 0 ||
        rename(unready.c_str(), path.c_str()) != 0) {
        const int error = errno;
        unlink(unready.c_str());
        close();
        fail(error, path);
    }
    path_ = path;
}

Listener::Listener(Listener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      identity_(other.identity_),
      path_(std::exchange(other.path_, {})) {}

Listener& Listener::operator=(Listener&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(identity_, other.identity_);
    std::swap(path_, other.path_);
    return *this;
}

bool Listener::is_intact() const {
    return descriptor_ >= 0 && base::identity_of(descriptor_) == identity_;
}

int Listener::accept_own_user() const {
    for (;;) {
        const int peer = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer < 0) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            return -1;
        }
        ucred who{};
        socklen_t size = sizeof who;
        const bool is_known = getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
        if (is_known && who.uid == geteuid()) return peer;
        ::close(peer);
    }
}

bool Listener::has_file() const {
    struct stat found{};
    return lstat(path_.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

void Listener::remove_file() {
    if (!path_.empty()) unlink(path_.c_str());
    path_.clear();
}

void Listener::close() {
    if (is_intact()) ::close(descriptor_);
    descriptor_ = -1;
}

}  // namespace kinetograph::agent
