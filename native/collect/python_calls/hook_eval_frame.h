// Calls on CPython 3.11 by the function that evaluates frames (PEP 523): a third of the profile hook's cost.
//
// With it every Python call uses the C stack, as before 3.11. So it gives way to the profile hook when that
// stack runs low, and for good once another tool may hold a pointer to it.
#pragma once

#include "record/thread_buffer.h"

namespace kinetograph::collect {

// False where it is not safe, or not the right one: the profile hook is then.
bool install_eval_frame_hook();
// What it holds on the C stack passes through. True if it was installed.
bool remove_eval_frame_hook();

// The calls that are open now, whose ends this hook will not see.
void find_calls_of(record::ThreadBuffer& thread);

}  // namespace kinetograph::collect
