// GPU work and calls into CUDA, for all sessions that want them. Every function may be called from any
// thread, needs no Python, and may wait for the GPU: call them without the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/visibility.h"
#include "collect/cupti/metrics.h"

namespace kinetograph::collect {

struct CudaOptions {
    bool synchronization = false;  // waiting for streams and events, and the events themselves
    bool memory = false;           // what is taken on devices, and given back
    bool crash_safe = false;       // what is complete is brought in every second, and not only at the end
    size_t memory_limit_bytes = SIZE_MAX;
    std::vector<std::string> libraries;  // where libcupti may be, best first; one that is mapped already wins
};

// Numbers reach Python.
enum class CudaState : int {
    off = 0,
    waiting = 1,  // for the program to initialise CUDA
    attached = 2,
    refused = 3,    // `reason` says why
    not_built = 4,  // without the headers of CUPTI
    taken_over = 5  // by another tool, or not working any more, after we had it; `reason` says which
};

struct CudaStatus {
    CudaState state = CudaState::off;
    std::string reason;
    std::string library;   // path of libcupti, once it was opened
    uint32_t version = 0;  // of its API
    uint64_t records = 0;  // decoded since the process began
};

// Whether a CUDA graph is being captured, in whatever thread, as far as sessions have seen: to wait for the
// device would break that.
KINETOGRAPH_API bool cuda_graph_is_captured();

// Once, before the first session and outside of any fork handler: it registers some itself.
KINETOGRAPH_API void prepare_cuda();

// Begins to collect, now or when the program has initialised CUDA. The number is for the next two.
KINETOGRAPH_API uint64_t start_cuda(const CudaOptions& options);
// Brings everything that the GPU has done into the buffers of the recorder, and tells notes. It waits for
// work that is still running, unless a stream is known to be captured or `may_wait` is false: waiting would
// break the capture.
KINETOGRAPH_API void flush_cuda(uint64_t use, bool may_wait);
// The last one detaches. Flush before the session stops, then call this.
KINETOGRAPH_API void stop_cuda(uint64_t use);

// Ids that the calling thread gives to the calls it makes from now on; they become arguments of those calls.
// Numbers reach Python.
enum class ExternalId : int { operators = 0, users = 1 };
KINETOGRAPH_API void push_external_id(ExternalId whose, uint64_t id);
KINETOGRAPH_API void pop_external_id(ExternalId whose);

// Called when CUPTI refuses to serve a session that had begun before the program initialised CUDA, in a
// thread of ours that knows no Python. Set once.
KINETOGRAPH_API void on_late_refusal(void (*call)());

// Samples hardware counters as well, for one session at a time: one that has started, so that CUPTI is ours.
// Nothing is sampled before it is resumed. Without success nothing has changed.
KINETOGRAPH_API MetricAnswer open_sampling(const SamplingOptions& options);
KINETOGRAPH_API void resume_sampling();
// Waits until all that was sampled is in the buffers of the recorder.
KINETOGRAPH_API void pause_sampling();
// Before stop_cuda.
KINETOGRAPH_API void close_sampling();

// Leaves CUPTI, which serves one user, to the counters (metrics.h). False while a session records.
bool leave_cupti_to_metrics();

KINETOGRAPH_API CudaStatus cuda_status();
// Whether CUPTI was ours and is not any more. Waits for nobody.
KINETOGRAPH_API bool cuda_is_taken_over();
// Whether the driver is loaded into this process.
KINETOGRAPH_API bool cuda_is_mapped();

}  // namespace kinetograph::collect
