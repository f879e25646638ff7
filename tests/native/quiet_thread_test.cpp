// Which signals reach the threads of ours.
#include "base/quiet_thread.h"

#include "check.h"

TEST(a_quiet_thread_blocks_signals_from_others_and_none_that_it_causes_itself) {
    sigset_t blocked;
    kinetograph::base::start_quietly("quiet", [&blocked] {
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    }).join();
    for (const int from_others : {SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGPROF})
        CHECK(sigismember(&blocked, from_others) == 1);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) CHECK(sigismember(&blocked, own) == 0);
}

TEST(whoever_starts_a_quiet_thread_has_the_signals_of_before) {
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    kinetograph::base::start_quietly("quiet", [] {}).join();
    pthread_sigmask(SIG_BLOCK, nullptr, &after);
    for (int signal = 1; signal < NSIG; ++signal)
        CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

CHECK_MAIN
