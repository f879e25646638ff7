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
        close();
        if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) return false;
        for (int i = 0; i < 2; ++i) identities_[i] = base::identity_of(ends_[i]);
        return true;
    }
    bool is_intact() const { return is_ours(0) && is_ours(1); }
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
        for (int i = 0; i < 2; ++i) {
            if (is_ours(i)) ::close(ends_[i]);
            ends_[i] = -1;
        }
    }

private:
    bool is_ours(int end) const {
        return ends_[end] >= 0 && base::identity_of(ends_[end]) == identities_[end];
    }

    int ends_[2] = {-1, -1};
    base::FileIdentity identities_[2];
};

}  // namespace kinetograph::agent
