// A process of `kinetograph run` that has no Python to begin its recording.
#pragma once

#include <atomic>

namespace kinetograph::inject {

// Begins a session where the environment names a run and nobody else records here; else does nothing. Once.
void take_part_in_run() noexcept;

// The same for a child that such a process has forked, with its first annotation: most children become
// another program at once. Whether it is recorded now.
extern std::atomic<bool> is_forked;
bool take_part_as_child() noexcept;

}  // namespace kinetograph::inject
