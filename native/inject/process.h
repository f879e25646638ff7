// A process of `kinetograph run` that has no Python to begin its recording.
#pragma once

namespace kinetograph::inject {

// Begins a session where the environment names a run and nobody else records here; else does nothing. Once.
void take_part_in_run() noexcept;

}  // namespace kinetograph::inject
