// The agent's socket: a file that only this user can open, and who is at the other end.
#pragma once

#include <string>

#include "base/temporary_file.h"

namespace kinetograph::agent {

class Listener {
public:
    Listener() = default;
    // In a directory that only this user can enter. Throws std::system_error.
    explicit Listener(const std::string& directory);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener() { close(); }

    int descriptor() const { return descriptor_; }
    const std::string& path() const { return path_; }
    // False after the program has closed descriptors that it does not know.
    bool is_intact() const;
    // Somebody who is this user too. -1 with EAGAIN in errno when nobody waits, or with what keeps them
    // waiting. Others are let go without a word.
    int accept_own_user() const;
    // False after somebody has removed it: those who clean up among temporary files do.
    bool has_file() const;
    void remove_file();
    // In a forked child: the file is the parent's.
    void leave_file() { path_.clear(); }
    void close();

private:
    int descriptor_ = -1;
    base::FileIdentity identity_;
    std::string path_;
};

// Where it is not there any more, and the directory that it lies in. Throws std::system_error unless it is
// one that only this user can enter.
void make_own_directory(const std::string& directory);

// Removes the sockets of processes that ended without a word, as workers of a pool do; also those that were
// killed before theirs had its name.
void remove_stale(const std::string& directory);

}  // namespace kinetograph::agent
