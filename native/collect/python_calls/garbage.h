// "Python GC": the pauses of the garbage collector, as spans among the calls.
#pragma once

namespace kinetograph::collect {

// With the GIL. Cannot fail: without gc.callbacks there are no such spans.
void watch_garbage_collection(bool on);

}  // namespace kinetograph::collect
