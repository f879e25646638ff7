// How calls become known: one file per way that CPython offers, of which the build takes the right one.
//
// hook_3_11.cpp chooses between hook_eval_frame.h and hook_profile.h, hook_monitoring.cpp is for 3.12 and
// later. All need the GIL, and leave what other tools have installed in its place.
#pragma once

namespace kinetograph::collect {

struct HookOptions {
    bool c_calls = false;
    bool is_change = false;         // it is installed, and the rules are new
    bool has_other_filter = false;  // than at the last time, whether that is over or not
};

// Calls of all threads, those that run and those to come. False with an exception set.
bool install_hook(const HookOptions& options);
void remove_hook();

// The calls of this thread that are open as the hook comes: some of its kinds do not see them end.
void find_calls_of_this_thread();

}  // namespace kinetograph::collect
