// How a thread publishes what it has written: order_stores(), then a store that is `in_order`.
//
// A store with release would do on every processor, and is what ThreadSanitizer understands. But on ARM the
// program's own next load with acquire waits until such a store has reached memory, which cost a loop of
// torch's operators 20 ns each; it does not wait for plain stores that a barrier keeps in order. Loads before
// the barrier are not ordered, unlike with release: nobody may hand over memory by this.
#pragma once

#include <atomic>

#if defined(__SANITIZE_THREAD__)
#define KINETOGRAPH_FOR_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KINETOGRAPH_FOR_THREAD_SANITIZER 1
#endif
#endif

namespace kinetograph::base {

#if defined(KINETOGRAPH_FOR_THREAD_SANITIZER)

inline constexpr auto in_order = std::memory_order_release;

inline void order_stores() noexcept {}

#else

inline constexpr auto in_order = std::memory_order_relaxed;

// Those of this thread that come before it, before those behind it, for whoever loads them in order.
inline void order_stores() noexcept {
#if defined(__aarch64__)
    asm volatile("dmb ishst" ::: "memory");
#else
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

#endif

}  // namespace kinetograph::base
