// A CUDA without a GPU: libcuda and libcupti with the real ones' C interface, played by tests through these
// functions.
//
// The fake program launches work (fake_launch...), and the fake CUPTI records it as the real one would, in
// records as long as those of the version it pretends to be.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FAKE_API extern "C" __attribute__((visibility("default")))

// ---- libcuda

// How many devices there are; 1 to begin with.
FAKE_API void fake_set_devices(int count);
// 90 for 9.0, which they have to begin with.
FAKE_API void fake_set_capability(int capability);
// A stream that is captured for ever.
inline void* const fake_captured_stream = reinterpret_cast<void*>(0xca);
// While a stream is captured, waiting for a context fails and breaks the capture.
FAKE_API void fake_set_capturing(int capturing);
FAKE_API int fake_capture_is_broken(void);
FAKE_API int fake_synchronizations(void);
// In which context all threads are from now on: 1 is the primary one, 2 another, 0 none.
FAKE_API void fake_set_context(int number);
// The context is gone: everything that is done to it or to what belongs to it fails.
FAKE_API void fake_destroy_context(int number);
// The stream with this handle is being captured; 0: none is. Recording an event there breaks the capture.
FAKE_API void fake_capture_stream(uintptr_t stream);
// The device works for so long, and events that are recorded from now on happen behind that.
FAKE_API void fake_work(uint64_t ns);
// Events do not happen until somebody waits for them.
FAKE_API void fake_hold_events(int hold);
FAKE_API int fake_events(void);  // that exist
FAKE_API int fake_streams(void);
FAKE_API int fake_event_calls(void);  // that were made at all
// For libcupti: called by each cuCtxSynchronize and cuCtxGetCurrent, with CUPTI's number of the function.
FAKE_API void fake_set_on_call(void (*callback)(uint32_t));

// ---- libcupti: how it shall behave. FAKE_CUPTI_VERSION and FAKE_CUPTI_FAIL set the first two at load.

FAKE_API void fake_set_version(uint32_t version);
// From now on the function of this name gives this result; 0: it works again.
FAKE_API void fake_fail(const char* function, int result);
// This kind of records cannot be had; 0: all can.
FAKE_API void fake_refuse_kind(uint32_t kind);
// Another tool registers callbacks of its own, although it could not subscribe.
FAKE_API void fake_take_over(void);
// Work stays unfinished until somebody waits for it.
FAKE_API void fake_hold_work(int hold);

// ---- what the fake program does. Each returns its correlation id.

FAKE_API uint32_t fake_launch(const char* kernel, uint32_t device, uint32_t stream);
FAKE_API uint32_t fake_driver_launch(const char* kernel, uint32_t device, uint32_t stream);
FAKE_API uint32_t fake_copy(uint64_t bytes, uint8_t kind, uint8_t from, uint8_t to, uint32_t stream);
FAKE_API uint32_t fake_peer_copy(uint64_t bytes, uint32_t from_device, uint32_t to_device, uint32_t stream);
FAKE_API uint32_t fake_set(uint64_t bytes, uint32_t stream);
// With a cluster, local memory, and whatever else few kernels have.
FAKE_API uint32_t fake_cooperative_launch(const char* kernel);
// A graph of so many kernels, each a node of it.
FAKE_API uint32_t fake_launch_graph(uint32_t graph, uint32_t nodes, uint32_t stream);
// One that copies from device to device, and has a kernel behind that.
FAKE_API uint32_t fake_launch_graph_of_peer_copy(uint32_t graph, uint32_t from_device, uint32_t to_device,
                                                 uint32_t stream);
// A call of the runtime that does nothing, by its callback id.
FAKE_API uint32_t fake_runtime_call(uint32_t callback);
FAKE_API void fake_record_event(uint32_t event, uint32_t stream);
FAKE_API void fake_stream_wait_event(uint32_t event, uint32_t stream);
FAKE_API void fake_synchronize_stream(uint32_t stream);
// Of a stream with this handle; the last of the three to be called decides whether waiting breaks a capture.
FAKE_API void fake_begin_capture(uintptr_t stream);
FAKE_API void fake_end_capture(uintptr_t stream);
FAKE_API void fake_destroy_stream(uintptr_t stream);
// Memory of a device. With a pool the call is an asynchronous one, and `pool_bytes` what the pool has by
// then.
FAKE_API void fake_allocate(uint64_t address, uint64_t bytes, uint32_t device, uint64_t pool,
                            uint64_t pool_bytes);
FAKE_API void fake_free(uint64_t address, uint64_t bytes, uint32_t device, uint64_t pool,
                        uint64_t pool_bytes);
FAKE_API void fake_allocate_pinned(uint64_t address, uint64_t bytes);
// What a pool keeps after it was told to give some back.
FAKE_API void fake_trim_pool(uint64_t pool, uint64_t pool_bytes, uint32_t device);
FAKE_API void fake_overhead(uint32_t kind);
FAKE_API void fake_create_stream(uint32_t device, uint32_t stream, int32_t priority);
// The driver compiles for this thread.
FAKE_API void fake_compilation(void);
// A kernel that had not ended when its record came.
FAKE_API void fake_unfinished_kernel(void);
// A kernel as no program launches it: `name` may be null, the times are CUPTI's, and nothing is called.
FAKE_API void fake_odd_kernel(const char* name, uint64_t start, uint64_t end, uint32_t correlation,
                              uint32_t device, uint32_t stream, uint32_t graph);
// So many records found no room.
FAKE_API void fake_drop_records(uint64_t count);
// A record of a kind that nobody knows, of so many bytes.
FAKE_API void fake_unknown_record(uint32_t kind, uint32_t bytes);

// A launch as counters see it: callbacks around it, and no record. One into a captured stream runs nothing.
FAKE_API void fake_counted_launch(const char* kernel, int is_captured);
// A launch that CUPTI counts nothing of.
FAKE_API void fake_uncounted_launch(const char* kernel);

// ---- what a device samples, while somebody samples its counters

// Takes so many samples of this value, one right after the other. The first of a sampling is worth nothing.
FAKE_API void fake_take_samples(int device, int count, uint64_t value);
// The time of so many passes without one.
FAKE_API void fake_miss_samples(int device, int count);
// There were too many: nothing can be read until sampling is switched on anew.
FAKE_API void fake_overflow_samples(int device);
FAKE_API int fake_unread_samples(int device);
FAKE_API int fake_has_overflowed(int device);  // and nobody has noticed yet
FAKE_API int fake_is_sampling(int device);
FAKE_API int fake_sampled_devices(void);  // for which sampling is switched on
FAKE_API uint64_t fake_sampling_interval(void);

// ---- what became of it

FAKE_API int fake_is_subscribed(void);
FAKE_API int fake_finalizations(void);
FAKE_API int fake_flushes(void);
FAKE_API int fake_is_enabled(uint32_t kind);
FAKE_API int fake_driver_calls(void);          // that are recorded by name now
FAKE_API int fake_was_enabled(uint32_t kind);  // since somebody subscribed
FAKE_API int fake_calls_back(int is_driver, uint32_t callback);
FAKE_API int fake_calls_before_driver(void);  // of any function of CUPTI before cuInit
