// A session that records the fake CUDA, and what a test asks its trace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "collect/cupti/collector.h"
#include "fake_cuda/play.h"
#include "record/recorder.h"
#include "trace/builder.h"

namespace kinetograph::test {

using record::Category;
using trace::Trace;

inline const FakeCuda& cuda() {
    static const FakeCuda* const fake = [] {
        auto* made = new FakeCuda;
        made->initialise();
        return made;
    }();
    return *fake;
}

// A session that wants CUDA, in the order in which Python does it.
class CudaSession {
public:
    explicit CudaSession(collect::CudaOptions options = {}) {
        cuda();
        use_ = collect::start_cuda(options);
        record::SessionOptions session;
        session.all_threads = true;
        id_ = record::Recorder::instance().start(session);
    }
    Trace stop(bool may_wait = true, const trace::BuildOptions& options = {}) {
        collect::flush_cuda(use_, may_wait);
        record::Recording recording = record::Recorder::instance().stop(id_);
        collect::stop_cuda(use_);
        return trace::build_trace(std::move(recording), options);
    }
    // What other threads do meanwhile comes after the last flush.
    Trace stop_while(const std::function<void()>& meanwhile) {
        collect::flush_cuda(use_, true);
        meanwhile();
        record::Recording recording = record::Recorder::instance().stop(id_);
        collect::stop_cuda(use_);
        return trace::build_trace(std::move(recording));
    }

private:
    uint64_t use_;
    record::SessionId id_;
};

inline std::string name_of(const Trace& trace, size_t row) {
    return std::string(trace.strings[trace.name[row]]);
}

inline std::vector<size_t> rows_of(const Trace& trace, Category category) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.category[row] == uint8_t(category)) rows.push_back(row);
    return rows;
}

inline size_t count(const Trace& trace, Category category) {
    return rows_of(trace, category).size();
}

inline bool has_note(const Trace& trace, std::string_view text) {
    for (const trace::Note& note : trace.notes)
        if (note.text.find(text) != std::string::npos) return true;
    return false;
}

inline void scope(const char* name, const std::function<void()>& body) {
    record::ThreadBuffer* thread = record::recording_thread();
    CHECK(thread);
    const uint32_t id = record::Recorder::instance().intern(name);
    record::Lane& lane = record::lane_of(*thread, 0);
    record::begin_scope(*thread, lane, id, uint32_t(Category::user_annotation) | 7U << 8);
    body();
    record::end_scope(*thread, lane, id, base::ticks());
}

inline std::string row_args(const Trace& trace, size_t row) {
    return std::string(trace.args_of(row));
}

}  // namespace kinetograph::test
