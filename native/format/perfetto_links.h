// Links from device work to the host event that caused it. Perfetto's format has no place for them: nearly
// all follow from what it has, and the others stand in one text.
#pragma once

#include <string>
#include <string_view>

#include "trace/trace.h"

namespace kinetograph::format::perfetto {

// The links of a trace that do not follow, as `row:linked row`, -1 for none, with spaces between.
std::string odd_links(const trace::Trace& trace);

// The other direction. Rows that are not there are passed over.
void restore_links(trace::Trace& trace, std::string_view odd_links);

}  // namespace kinetograph::format::perfetto
