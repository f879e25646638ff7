// Whether a program has asked ITT to collect nothing for a while.
#pragma once

#include <atomic>

namespace kinetograph::inject {

inline std::atomic<bool> is_paused{false};

}  // namespace kinetograph::inject
