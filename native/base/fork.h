// One place where the process learns that it forked.
#pragma once

namespace kinetograph::base {

// Registers the three handlers of pthread_atfork. Later registrations run first before the fork.
void on_fork(void (*before)(), void (*in_parent)(), void (*in_child)());

}  // namespace kinetograph::base
