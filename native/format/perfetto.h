// Perfetto's protobuf traces, both directions.
#pragma once

#include "format/chrome_json.h"
#include "format/sink.h"
#include "trace/trace.h"

namespace kinetograph::format {

// Streams; needs memory for one block, and for the strings and flows of the trace.
void write_perfetto(const trace::Trace& trace, Sink& sink);

}  // namespace kinetograph::format
