// Calls on CPython 3.11 by the profile function of each thread: sees C functions too, and costs the most.
//
// Threads that are not started by the threading module get it with the next call of any other thread.
#pragma once

#include "collect/python_calls/hook.h"

namespace kinetograph::collect {

// `remove_other_hook` is called when the change can be made at once, for all threads.
bool install_profile_hook(bool c_calls, void (*remove_other_hook)());
void remove_profile_hook();
MissedCalls calls_missed_by_profile_hook();

}  // namespace kinetograph::collect
