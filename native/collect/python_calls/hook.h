// How calls become known: one file per way that CPython offers, of which the build takes the right one.
//
// hook_3_11.cpp chooses between hook_eval_frame.h and hook_profile.h, hook_monitoring.cpp is for 3.12 and
// later. All need the GIL, and leave what other tools have installed in its place.
#pragma once

namespace kinetograph::collect {

// Calls of all threads, those that run and those to come. `is_change`: it is installed, and the rules are
// new. False with an exception set.
bool install_hook(bool c_calls, bool is_change);
void remove_hook();

// The calls of this thread that are open as the hook comes: some of its kinds do not see them end.
void find_calls_of_this_thread();

}  // namespace kinetograph::collect
