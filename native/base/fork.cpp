#include "base/fork.h"

#include <pthread.h>

namespace kinetograph::base {

void on_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
    pthread_atfork(before, in_parent, in_child);
}

}  // namespace kinetograph::base
