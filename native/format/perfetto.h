// Perfetto's protobuf traces, both directions.
#pragma once

#include "format/chrome_json.h"
#include "format/sink.h"
#include "trace/trace.h"

namespace kinetograph::format {

// Streams; needs memory for one block, and for the strings and flows of the trace.
void write_perfetto(const trace::Trace& trace, Sink& sink);

// Our own files come back as they were. Of others the slices, instants and counters of TrackEvents are read;
// what is left out is counted in a note. Throws ParseError.
trace::Trace read_perfetto(const Source& source, const trace::Storage& storage = {});

}  // namespace kinetograph::format
