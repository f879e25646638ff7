// Where an interpreter keeps the head of its list of threads.
#pragma once

#include <cstddef>

namespace kinetograph::collect {

// Bytes from the begin of a PyInterpreterState.
extern const size_t thread_head_offset;

}  // namespace kinetograph::collect
