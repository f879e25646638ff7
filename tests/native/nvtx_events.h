// What the tests of NVTX annotations share: making events, and finding them in a trace.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "annotation_session.h"
#include "check.h"

namespace kinetograph::test {

inline size_t row_of(const trace::Trace& trace, std::string_view name) {
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.strings[trace.name[row]] == name) return row;
    CHECK(!"an event of that name");
    return 0;
}

inline std::string category(const trace::Trace& trace, std::string_view name) {
    return trace.categories[trace.category[row_of(trace, name)]];
}

inline std::string args(const trace::Trace& trace, std::string_view name) {
    return std::string(trace.args_of(row_of(trace, name)));
}

inline nvtxEventAttributes_t event_called(const char* name) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return event;
}

// Of many losses at a time, a trace may lack some that come behind; those of another time are told for
// themselves.
inline void wait_for_other_losses() {
    using namespace std::chrono;
    for (const auto begun = steady_clock::now(); steady_clock::now() - begun < milliseconds(30);)
        std::this_thread::yield();
}

inline size_t notes_that_begin(const trace::Trace& trace, std::string_view text) {
    return size_t(std::count_if(trace.notes.begin(), trace.notes.end(),
                                [&](const trace::Note& note) { return note.text.starts_with(text); }));
}

}  // namespace kinetograph::test
