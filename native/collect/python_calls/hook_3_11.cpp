// Which of its two hooks CPython 3.11 gets.
#include "collect/python_calls/calls.h"
#include "collect/python_calls/hook.h"
#include "collect/python_calls/hook_eval_frame.h"
#include "collect/python_calls/hook_profile.h"

namespace kinetograph::collect {

namespace {

bool profiles = false;

bool profile(bool c_calls) {
    remove_eval_frame_hook();
    profiles = install_profile_hook(c_calls);
    return profiles;
}

}  // namespace

// Once the profile hook is on it stays: what begins under it must end under it.
bool install_hook(bool c_calls, bool is_change) {
    if (c_calls || (is_change && profiles) || !install_eval_frame_hook()) return profile(c_calls);
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

void remove_hook() {
    remove_eval_frame_hook();
    remove_profile_hook();
    profiles = false;
}

}  // namespace kinetograph::collect
