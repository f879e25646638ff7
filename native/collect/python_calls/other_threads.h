// What a thread can tell of the others: their names, and the calls they have open.
//
// A thread that waits in C for the whole of a session calls nothing and returns from nothing, so no hook ever
// sees it. Whoever starts or stops the session looks at its frames instead.
#pragma once

namespace kinetograph::collect {

struct OtherThreads {
    bool stacks = false;  // besides their names
};

// Into the buffer of the calling thread, if that is recorded. Needs the GIL, and for the stacks rules that
// calls are traced by (calls.h).
void record_other_threads(OtherThreads wanted);

}  // namespace kinetograph::collect
