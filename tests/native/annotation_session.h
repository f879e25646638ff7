// A session around annotations, and the trace of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// The values of a trace of one counter, by their times.
inline std::vector<int64_t> values_by_time(const trace::Trace& trace) {
    std::vector<std::pair<int64_t, int64_t>> seen;
    for (size_t row = 0; row < trace.size(); ++row)
        seen.emplace_back(
            trace.start_ns[row],
            std::stoll(std::string(trace.args_of(row)).substr(std::string_view("\"value\":").size())));
    std::sort(seen.begin(), seen.end());
    std::vector<int64_t> values;
    for (const auto& [time, value] : seen) values.push_back(value);
    return values;
}

// 1, 2, 3 and so on.
inline std::vector<int64_t> numbers_up_to(int64_t last) {
    std::vector<int64_t> numbers(static_cast<size_t>(last));
    std::iota(numbers.begin(), numbers.end(), 1);
    return numbers;
}

}  // namespace kinetograph::test
