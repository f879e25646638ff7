// Ends the sleep of a thread in poll.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "base/temporary_file.h"

namespace kinetograph::agent {

// A pipe, and not an eventfd: it can be told from a file that got its number.
class Waker {
public:
    bool open() {
        if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) return false;
        for (int i = 0; i < 2; ++i) identities_[i] = base::identity_of(ends_[i]);
        return true;
    }
    bool is_intact() const {
        for (int i = 0; i < 2; ++i)
            if (ends_[i] < 0 || base::identity_of(ends_[i]) != identities_[i]) return false;
        return true;
    }
    int descriptor() const { return ends_[0]; }
    void wake() const {
        const char byte = 0;
        if (is_intact()) (void)!write(ends_[1], &byte, 1);
    }
    void drain() const {
        char bytes[64];
        while (read(ends_[0], bytes, sizeof bytes) > 0) {
        }
    }
    void close() {
        const bool is_ours = is_intact();
        for (int& end : ends_) {
            if (is_ours) ::close(end);
            end = -1;
        }
    }

private:
    int ends_[2] = {-1, -1};
    base::FileIdentity identities_[2];
};

}  // namespace kinetograph::agent
