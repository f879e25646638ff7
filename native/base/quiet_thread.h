// Threads of ours in a program that does not know them.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace kinetograph::base {

// Signals that come meanwhile wait for a thread of the program's, or for this one once it is back. Not those
// that this thread itself may cause: blocked, they would end the process without a word of its handlers.
class AllSignalsBlocked {
public:
    AllSignalsBlocked() {
        sigset_t from_others;
        sigfillset(&from_others);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&from_others, own);
        pthread_sigmask(SIG_BLOCK, &from_others, &before_);
    }
    ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllSignalsBlocked(const AllSignalsBlocked&) = delete;
    AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

private:
    sigset_t before_;
};

// One in which the program's signal handlers do not run. The name has 15 characters at most.
template <class Run>
std::thread start_quietly(const char* name, Run run) {
    const AllSignalsBlocked blocked;  // which a thread inherits
    std::thread thread(std::move(run));
    pthread_setname_np(thread.native_handle(), name);
    return thread;
}

}  // namespace kinetograph::base
