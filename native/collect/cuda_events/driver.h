// The driver's functions for events, found at run time in the libcuda that the program has loaded. Nothing
// links to it.
#pragma once

#include <cuda.h>

namespace kinetograph::collect::cuda_events {

struct Driver {
    CUresult (*device_count)(int*) = nullptr;
    CUresult (*device)(CUdevice*, int) = nullptr;
    CUresult (*primary_context_state)(CUdevice, unsigned*, int*) = nullptr;
    CUresult (*retain_primary_context)(CUcontext*, CUdevice) = nullptr;
    CUresult (*release_primary_context)(CUdevice) = nullptr;
    CUresult (*current_context)(CUcontext*) = nullptr;
    CUresult (*push_context)(CUcontext) = nullptr;
    CUresult (*pop_context)(CUcontext*) = nullptr;
    CUresult (*context_device)(CUdevice*) = nullptr;
    CUresult (*create_event)(CUevent*, unsigned) = nullptr;
    CUresult (*destroy_event)(CUevent) = nullptr;
    CUresult (*record_event)(CUevent, CUstream) = nullptr;
    CUresult (*wait_for_event)(CUevent) = nullptr;
    CUresult (*elapsed_time)(float*, CUevent, CUevent) = nullptr;
    CUresult (*create_stream)(CUstream*, unsigned) = nullptr;
    CUresult (*destroy_stream)(CUstream) = nullptr;
    CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
    CUresult (*exchange_capture_mode)(CUstreamCaptureMode*) = nullptr;
    CUresult (*stream_id)(CUstream, unsigned long long*) = nullptr;    // 12.0 and newer
    CUresult (*context_id)(CUcontext, unsigned long long*) = nullptr;  // 12.0 and newer
};

// Null unless the program has loaded the driver and called cuInit with success. Never loads or initialises
// it.
const Driver* initialised_driver();

// A context for the calls of one thread: the one that is current, or, in a thread that has none yet, the
// primary one of the device, if the program has made that.
class CurrentContext {
public:
    CurrentContext(const Driver& driver, int device);
    ~CurrentContext();
    CurrentContext(const CurrentContext&) = delete;
    explicit operator bool() const { return context_ != nullptr; }
    CUcontext handle() const { return context_; }

private:
    void push_primary(int device);

    const Driver& driver_;
    CUcontext context_ = nullptr;
    CUdevice retained_ = -1;
};

// This very context, from any thread. False when it is gone.
class PushedContext {
public:
    PushedContext(const Driver& driver, CUcontext context)
        : driver_(driver), is_pushed_(driver.push_context(context) == CUDA_SUCCESS) {}
    ~PushedContext() {
        CUcontext popped = nullptr;
        if (is_pushed_) driver_.pop_context(&popped);
    }
    PushedContext(const PushedContext&) = delete;
    explicit operator bool() const { return is_pushed_; }

private:
    const Driver& driver_;
    const bool is_pushed_;
};

// A capture of the program's is broken by certain calls of other streams, too, unless a thread says that it
// knows what it does.
class RelaxedCapture {
public:
    explicit RelaxedCapture(const Driver& driver) : driver_(driver) { driver_.exchange_capture_mode(&mode_); }
    ~RelaxedCapture() { driver_.exchange_capture_mode(&mode_); }
    RelaxedCapture(const RelaxedCapture&) = delete;

private:
    const Driver& driver_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace kinetograph::collect::cuda_events
