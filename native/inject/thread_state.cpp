#include "inject/thread_state.h"

#include <pthread.h>

#include <utility>

namespace kinetograph::inject {

constinit thread_local ThreadState* current_state = nullptr;

namespace {

// Where there is no key to be had, what a thread keeps stays when it ends.
void free_at_exit(ThreadState* state) {
    static pthread_key_t key{};
    static const bool has_key =
        pthread_key_create(&key, [](void*) { delete std::exchange(current_state, nullptr); }) == 0;
    if (has_key) pthread_setspecific(key, state);
}

// A forked child records nothing of what was begun before it was.
void forget_in_child() {
    if (!current_state) return;
    for (DomainRanges& domain : current_state->domains)
        for (OpenRange& range : domain.open) range.name = 0;
}

}  // namespace

ThreadState& make_state() {
    static const int at_fork = pthread_atfork(nullptr, nullptr, forget_in_child);
    static_cast<void>(at_fork);
    current_state = new ThreadState;
    free_at_exit(current_state);
    return *current_state;
}

}  // namespace kinetograph::inject
