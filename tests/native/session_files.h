// Session files for tests: recorded by a child that ends without stopping its session, as a kill would end
// it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "check.h"
#include "found.h"
#include "record/recorder.h"
#include "trace/builder.h"

namespace kinetograph::test {

struct Directory {
    Directory() {
        char name[] = "/tmp/kinetograph-test-XXXXXX";
        path = mkdtemp(name);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string only_file() const {
        for (const auto& entry : std::filesystem::directory_iterator(path)) return entry.path();
        return {};
    }
    std::string path;
};

inline record::SessionOptions in(const Directory& directory) {
    record::SessionOptions options;
    options.all_threads = true;
    options.session_directory = directory.path;
    return options;
}

// Of a thread that a session records.
inline record::ThreadBuffer& this_thread() {
    record::ThreadBuffer* thread = record::recording_thread();
    CHECK(thread != nullptr);
    return *thread;
}

inline void begin(std::string_view name) {
    record::ThreadBuffer& thread = this_thread();
    record::begin_scope(
        thread, record::lane_of(thread, 1), record::Recorder::instance().intern(name),
        record::open_meta(record::Category::user_annotation, record::RecordScope::user_scope));
}

inline void end(std::string_view name) {
    record::ThreadBuffer& thread = this_thread();
    record::end_scope(thread, record::lane_of(thread, 1), record::Recorder::instance().intern(name),
                      base::ticks());
}

inline void scope(std::string_view name) {
    begin(name);
    end(name);
}

// Runs `work` in a child that never returns, and waits for its end.
template <class Work>
void in_child(Work&& work) {
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

inline size_t row_of(const trace::Trace& trace, std::string_view name) {
    for (size_t i = 0; i < trace.size(); ++i)
        if (trace.strings[trace.name[i]] == name) return i;
    fail(__FILE__, __LINE__, "there is no such event");
}

inline std::string note(const trace::Trace& trace, std::string_view kind) {
    for (const trace::Note& found : trace.notes)
        if (found.kind == kind) return found.text;
    return {};
}

}  // namespace kinetograph::test
