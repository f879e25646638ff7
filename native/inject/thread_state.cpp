#include "inject/thread_state.h"

#include <pthread.h>

#include <utility>

namespace kinetograph::inject {

constinit thread_local ThreadState* current_state = nullptr;

namespace {

pthread_key_t make_exit_key() {
    pthread_key_t key{};
    pthread_key_create(&key, [](void*) { delete std::exchange(current_state, nullptr); });
    return key;
}

// A forked child records nothing of what was begun before it was.
void forget_in_child() {
    if (!current_state) return;
    for (DomainRanges& domain : current_state->domains)
        for (OpenRange& range : domain.open) range.name = 0;
}

}  // namespace

ThreadState& make_state() {
    static const pthread_key_t exit_key = make_exit_key();
    static const int at_fork = pthread_atfork(nullptr, nullptr, forget_in_child);
    static_cast<void>(at_fork);
    current_state = new ThreadState;
    pthread_setspecific(exit_key, current_state);
    return *current_state;
}

}  // namespace kinetograph::inject
