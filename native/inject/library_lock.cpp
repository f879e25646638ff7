#include "inject/library_lock.h"

#include <pthread.h>

namespace kinetograph::inject {

constinit std::mutex library_mutex;

namespace {

void unlock() {
    library_mutex.unlock();
}
[[maybe_unused]] const int at_fork = pthread_atfork([] { library_mutex.lock(); }, unlock, unlock);

}  // namespace

}  // namespace kinetograph::inject
