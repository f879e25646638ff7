// A session around annotations, and the trace of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

// The number that a note begins with, 0 without one.
inline uint64_t count_in_note(const trace::Trace& trace, std::string_view text) {
    for (const trace::Note& note : trace.notes)
        if (note.text.find(text) != note.text.npos) return std::stoull(note.text);
    return 0;
}

}  // namespace kinetograph::test
