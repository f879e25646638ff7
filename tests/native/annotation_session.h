// A session around annotations, and the trace of it.
#pragma once

#include "format/json_check.h"
#include "record/recorder.h"
#include "trace/builder.h"

namespace kinetograph::test {

inline record::SessionId start() {
    record::SessionOptions options;
    options.all_threads = true;
    return record::Recorder::instance().start(options);
}

inline trace::Trace stop(record::SessionId session) {
    trace::BuildOptions options;
    options.wanted.device_work = options.wanted.timed_scopes = false;  // as most sessions have it
    options.clean_members = format::clean_members;
    return trace::build_trace(record::Recorder::instance().stop(session), options);
}

}  // namespace kinetograph::test
