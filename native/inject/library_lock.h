// The one lock of this library: for what is made once and looked up seldom. Forks wait for it, so that a
// child finds it free.
#pragma once

#include <mutex>

namespace kinetograph::inject {

// Held for moments, and never while calling anything that takes it.
extern std::mutex library_mutex;

}  // namespace kinetograph::inject
