#include "bind/trace_object.h"

#include "bind/text.h"

namespace nb = nanobind;

namespace kinetograph::bind {

void TraceObject::copy_trace() {
    trace_ = std::make_shared<trace::Trace>(trace_->clone());
    tracks_.reset();
}

trace::Trace& TraceObject::change_rows() {
    if (trace_.use_count() > 1) copy_trace();
    nesting_.reset();
    device_work_.reset();
    names_.reset();
    ++version_;
    return *trace_;
}

trace::Trace& TraceObject::change_texts() {
    if (writers_ > 0) copy_trace();
    return *trace_;
}

trace::TrackIndex& TraceObject::tracks() {
    if (!tracks_) tracks_ = std::make_unique<trace::TrackIndex>(*trace_);
    return *tracks_;
}

std::shared_ptr<trace::Nesting> TraceObject::nesting() {
    if (!nesting_) nesting_ = std::make_shared<trace::Nesting>(trace::nest(*trace_));
    return nesting_;
}

std::shared_ptr<trace::DeviceWork> TraceObject::device_work() {
    if (!device_work_) {
        device_work_ = std::make_shared<trace::DeviceWork>(trace::attribute_device_work(*trace_, *nesting()));
    }
    return device_work_;
}

nb::object TraceObject::names() {
    if (names_.is_valid()) return names_;
    nb::list list;
    for (uint32_t id = 0; id < trace_->strings.size(); ++id) list.append(to_python(trace_->strings[id]));
    return names_ = list;
}

}  // namespace kinetograph::bind
