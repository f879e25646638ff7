// Calls on CPython 3.11 by the profile function of each thread: sees C functions too, and costs the most.
//
// Threads that are not started by the threading module are seen only if they run when it is installed.
#pragma once

namespace kinetograph::collect {

bool install_profile_hook(bool c_calls);
void remove_profile_hook();

}  // namespace kinetograph::collect
