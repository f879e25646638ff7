// What a trace holds, for tests.
#pragma once

#include <string_view>

#include "trace/trace.h"

namespace kinetograph::test {

inline size_t count(const trace::Trace& trace, std::string_view name) {
    size_t found = 0;
    for (size_t i = 0; i < trace.size(); ++i) found += trace.strings[trace.name[i]] == name;
    return found;
}

inline bool has_note(const trace::Trace& trace, std::string_view kind) {
    for (const trace::Note& note : trace.notes)
        if (note.kind == kind) return true;
    return false;
}

}  // namespace kinetograph::test
