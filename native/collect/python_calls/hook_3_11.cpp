// Which of its two hooks CPython 3.11 gets.
#include <utility>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/hook.h"
#include "collect/python_calls/hook_eval_frame.h"
#include "collect/python_calls/hook_profile.h"

namespace kinetograph::collect {

namespace {

bool profiles = false;
bool is_changing = false;

bool profile(bool c_calls) {
    profiles = install_profile_hook(c_calls, remove_eval_frame_hook);
    return profiles;
}

// The profile hook sees the rest, also the ends of what has begun under the other. To install it takes calls,
// and where the stack is low each of them asks for this.
void give_way() {
    if (std::exchange(is_changing, true)) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!profile(false)) {
        PyErr_Clear();
        remove_eval_frame_hook();
    }
    PyErr_Restore(type, value, traceback);
    is_changing = false;
}

}  // namespace

// Once the profile hook is on it stays: what begins under it must end under it.
bool install_hook(const HookOptions& options) {
    if (options.c_calls || (options.is_change && profiles) || !install_eval_frame_hook(give_way))
        return profile(options.c_calls);
    return true;
}

void find_calls_of_this_thread() {
    record::ThreadBuffer* thread = calling_thread();
    if (!thread) return;
    if (profiles)
        find_open_calls(*thread, true);
    else
        find_calls_of(*thread);
}

// Our functions are not seen to begin, only what they call.
uintptr_t own_call_in(const OpenFrames& open) {
    return open.own_call;
}

// Evaluating frames takes the C stack to be one.
void expect_several_stacks() {
    if (!profiles) give_way();
}

MissedCalls missed_calls() {
    MissedCalls missed = calls_missed_by_profile_hook();
    missed.taken += has_lost_eval_frame_hook();
    missed.late_ends = calls_ended_late();
    return missed;
}

void remove_hook() {
    is_changing = false;  // a fork in the middle of a change leaves it so
    remove_eval_frame_hook();
    remove_profile_hook();
    profiles = false;
}

}  // namespace kinetograph::collect
