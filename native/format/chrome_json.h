// Chrome trace JSON as Kineto writes it, both directions.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "format/sink.h"
#include "trace/trace.h"

namespace kinetograph::format {

// Streams; needs memory for one block only. `trace_name` becomes "traceName" (Kineto puts the path there).
void write_chrome_json(const trace::Trace& trace, Sink& sink, std::string_view trace_name);

// What is wrong with the input and where. `offset` counts bytes of the uncompressed text.
struct ParseError : std::runtime_error {
    ParseError(size_t at, const std::string& reason) : std::runtime_error(reason), offset(at) {}
    size_t offset;
};

// Gives the next piece of the text; an empty view ends it. Pieces may break anywhere.
using Source = std::function<std::string_view()>;

trace::Trace read_chrome_json(const Source& source, const trace::Storage& storage = {});

}  // namespace kinetograph::format
