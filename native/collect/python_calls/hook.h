// How calls become known: one file per way that CPython offers, of which the build takes the right one.
//
// hook_3_11.cpp chooses between hook_eval_frame.h and hook_profile.h, hook_monitoring.cpp is for 3.12 and
// later. All need the GIL, and leave what other tools have installed in its place.
#pragma once

#include <cstdint>

namespace kinetograph::collect {

struct HookOptions {
    bool c_calls = false;
    bool is_change = false;         // it is installed, and the rules are new
    bool has_other_filter = false;  // than at the last time, whether that is over or not
};

// Calls of all threads, those that run and those to come. False with an exception set.
bool install_hook(const HookOptions& options);
void remove_hook();

// The stacks of frames of one thread begin to take turns.
void expect_several_stacks();

// What the hook keeps as the own call of a thread (ThreadBuffer) that has these frames open.
struct OpenFrames;
uintptr_t own_call_in(const OpenFrames& open);

// What a hook has not seen since the process began, as far as it can tell.
struct MissedCalls {
    uint64_t taken = 0;           // threads, now, in which another tool has taken its place
    uint64_t unseen_threads = 0;  // that ended before it was there
    uint64_t late_threads = 0;    // that had run for a while before it was there
    uint64_t late_ends = 0;       // of calls that had ended before it was noticed
};
MissedCalls missed_calls();

// The calls of this thread that are open as the hook comes: some of its kinds do not see them end.
void find_calls_of_this_thread();

}  // namespace kinetograph::collect
