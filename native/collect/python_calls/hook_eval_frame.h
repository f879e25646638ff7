// Calls on CPython 3.11 by the function that evaluates frames (PEP 523): a third of the profile hook's cost.
//
// With it every Python call uses the C stack, as before 3.11. So it gives way to the profile hook when that
// stack runs low, and for good once another tool may hold a pointer to it. Before 3.11.4 it misses calls, and
// is never used.
#pragma once

#include <cstdint>

#include "record/thread_buffer.h"

namespace kinetograph::collect {

// False where it is not safe: the profile hook is then. `when_stack_is_low` is called on the way of a call,
// with an exception set perhaps, and removes it.
bool install_eval_frame_hook(void (*when_stack_is_low)());
// What it holds on the C stack passes through.
void remove_eval_frame_hook();

// The calls that are open now. This hook does not see their ends: most are told by found_ends.h, the others
// are noticed with the next call.
void find_calls_of(record::ThreadBuffer& thread);
uint64_t calls_ended_late();

// Another tool has come later, and may not pass frames on to us.
bool has_lost_eval_frame_hook();

}  // namespace kinetograph::collect
