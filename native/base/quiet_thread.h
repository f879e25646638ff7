// Threads of our own, in which the program's signal handlers do not run: it does not know them.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace kinetograph::base {

// A thread inherits the mask. The destructor takes ours back also where there is no thread to be had: else
// the program would never see a signal again.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_;
};

// Throws std::system_error where there is none to be had. `name` has at most 15 characters.
template <class Run>
std::thread start_quietly(const char* name, Run run) {
    const SignalsBlocked blocked;
    std::thread thread(std::move(run));
    pthread_setname_np(thread.native_handle(), name);
    return thread;
}

}  // namespace kinetograph::base
