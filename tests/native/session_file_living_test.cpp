// Reading the session file of a process that goes on writing to it.
#include <poll.h>

#include "record/session_file.h"
#include "session_files.h"

using namespace kinetograph;
using namespace kinetograph::test;
using record::Recorder;

namespace {

bool has_byte(int descriptor) {
    pollfd asked{descriptor, POLLIN, 0};
    return poll(&asked, 1, 0) == 1;
}

// Records into a small ring until it is told to stop; 0 when its own trace is whole then.
int record_until_told(const Directory& directory, int ready, int told) {
    record::SessionOptions options = in(directory);
    options.ring_bytes = 4 * record::slab_bytes;
    const auto session = Recorder::instance().start(options);
    begin("outermost");
    for (uint64_t round = 0; !has_byte(told); ++round) {
        for (int i = 0; i < 1000; ++i) {
            begin("outer");
            scope("inner");
            end("outer");
        }
        if (round == 20 && write(ready, "r", 1) != 1) return 1;
    }
    const trace::Trace trace = trace::build_trace(Recorder::instance().stop(session));
    return count(trace, "inner") >= 1000 && count(trace, "outermost") == 1 ? 0 : 2;
}

void check_that_it_makes_sense(const trace::Trace& trace) {
    for (size_t i = 0; i < trace.size(); ++i) {
        const std::string_view name = trace.strings[trace.name[i]];
        CHECK(name == "outermost" || name == "outer" || name == "inner");
        CHECK(trace.duration_ns[i] >= 0);
    }
    CHECK(note(trace, "running").ends_with(" is still running: this is what it had recorded so far"));
    CHECK(note(trace, "recovered").empty() && note(trace, "damaged").empty());
}

}  // namespace

TEST(a_living_ring_can_be_read_again_and_again_and_does_not_notice) {
    const Directory directory;
    int ready[2], told[2];
    CHECK(pipe(ready) == 0 && pipe(told) == 0);
    const pid_t child = fork();
    if (child == 0) _exit(record_until_told(directory, ready[1], told[0]));
    char byte = 0;
    CHECK(read(ready[0], &byte, 1) == 1);
    size_t inner = 0;
    for (int i = 0; i < 30; ++i) {
        const std::string file = directory.only_file();
        CHECK(record::trim_session_file(file) == 0);
        const trace::Trace trace = trace::build_trace(record::recover_session_file(file));
        check_that_it_makes_sense(trace);
        inner += count(trace, "inner");
    }
    CHECK(inner > 0);
    CHECK(write(told[1], &byte, 1) == 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

CHECK_MAIN
