// A Trace that Python looks into while it may still grow.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>

#include "trace/device_work.h"
#include "trace/trace.h"
#include "trace/track_index.h"

namespace kinetograph::bind {

// Views handed to NumPy share the trace, and so do writers, which run without the GIL. What they look at
// stays as it is: a change meanwhile is made to a copy. All methods need the GIL.
class TraceObject {
public:
    explicit TraceObject(trace::Trace&& trace) : trace_(std::make_shared<trace::Trace>(std::move(trace))) {}

    const trace::Trace& trace() const { return *trace_; }
    std::shared_ptr<trace::Trace> share() const { return trace_; }
    // For what has views, or is kept by Python: rows, tracks.
    trace::Trace& change_rows();
    // For what has none: arguments, notes, metadata.
    trace::Trace& change_texts();
    trace::TrackIndex& tracks();
    // After somebody else has added tracks.
    void forget_tracks() { tracks_.reset(); }
    std::shared_ptr<trace::Nesting> nesting();
    std::shared_ptr<trace::DeviceWork> device_work();
    nanobind::object names();

    // Counts change_rows(), so that Python knows when a view it kept is of the past.
    uint64_t version() const { return version_; }

    class Writing {
    public:
        explicit Writing(TraceObject& object) : object_(object), trace_(object.trace_) { ++object_.writers_; }
        ~Writing() { --object_.writers_; }
        Writing(const Writing&) = delete;
        const trace::Trace& trace() const { return *trace_; }

    private:
        TraceObject& object_;
        std::shared_ptr<trace::Trace> trace_;
    };

private:
    void copy_trace();

    std::shared_ptr<trace::Trace> trace_;
    std::unique_ptr<trace::TrackIndex> tracks_;
    std::shared_ptr<trace::Nesting> nesting_;
    std::shared_ptr<trace::DeviceWork> device_work_;
    nanobind::object names_;
    uint64_t version_ = 0;
    int writers_ = 0;
};

}  // namespace kinetograph::bind
