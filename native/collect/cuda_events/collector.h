// Scopes timed by CUDA events, where CUPTI cannot be used: one event on the stream at the begin of a scope,
// one at its end. For all sessions that want it. Needs no Python; every function may be called from any
// thread, without the GIL.
#pragma once

#include <cstdint>

#include "base/visibility.h"

namespace kinetograph::collect {

// Since the process began.
struct ScopeTimes {
    uint64_t timed = 0;
    uint64_t captured = 0;   // left out: their stream was being captured
    uint64_t elsewhere = 0;  // left out: they ended in another context than they began in
    uint64_t lost = 0;       // the driver refused, or their context is gone
    int64_t error_ns = 0;    // since the timer was started last: how far a begin may be off
};

// Where the program works: the handle of its stream, and the device for a thread that has not used CUDA yet.
struct StreamPlace {
    int device = 0;
    uint64_t stream = 0;
};

// Once, before the first session and outside of any fork handler: it registers some itself.
KINETOGRAPH_API void prepare_scope_timer();

// Each start needs its stop. Scopes that are open at the last one are not timed.
KINETOGRAPH_API void start_scope_timer();
KINETOGRAPH_API void stop_scope_timer();
// Whether it runs, and the program has initialised CUDA.
KINETOGRAPH_API bool scope_timer_is_ready();

// Just before the scope of this name begins on this thread. The number is for the end; 0: not timed.
KINETOGRAPH_API uint64_t begin_timed_scope(uint32_t name, int32_t tid, const StreamPlace& place);
KINETOGRAPH_API void end_timed_scope(uint64_t number, const StreamPlace& place);

// Waits until the device has reached the ends of all scopes that have ended, and brings them into the
// recorder.
KINETOGRAPH_API void flush_timed_scopes();
KINETOGRAPH_API ScopeTimes scope_times();

}  // namespace kinetograph::collect
