// Recording into a file that outlives the process.
#include "record/session_file.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "check.h"
#include "record/recorder.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
namespace fs = std::filesystem;

namespace {

constexpr uint32_t meta =
    record::open_meta(record::Category::user_annotation, record::RecordScope::user_scope);

struct Directory {
    Directory() {
        char name[] = "/tmp/kinetograph-test-XXXXXX";
        path = mkdtemp(name);
    }
    ~Directory() { fs::remove_all(path); }
    std::string only_file() const {
        for (const auto& entry : fs::directory_iterator(path)) return entry.path();
        return {};
    }
    std::string path;
};

record::SessionOptions in(const Directory& directory) {
    record::SessionOptions options;
    options.all_threads = true;
    options.session_directory = directory.path;
    return options;
}

void begin(std::string_view name) {
    auto* thread = record::recording_thread();
    record::begin_scope(*thread, record::lane_of(*thread, 1), Recorder::instance().intern(name), meta);
}

void end(std::string_view name) {
    auto* thread = record::recording_thread();
    record::end_scope(*thread, record::lane_of(*thread, 1), Recorder::instance().intern(name), base::ticks());
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
    CHECK(waitpid(child, &status, 0) == child);
}

size_t count(const trace::Trace& trace, std::string_view name, bool finished) {
    size_t found = 0;
    for (size_t i = 0; i < trace.size(); ++i)
        found +=
            trace.strings[trace.name[i]] == name && finished == !(trace.flags[i] & trace::event_unfinished);
    return found;
}

std::string recorded_file(const Directory& directory, int scopes) {
    in_child([&] {
        Recorder::instance().start(in(directory));
        begin("outer");
        for (int i = 0; i < scopes; ++i) {
            begin("inner");
            end("inner");
        }
        std::thread([] {
            begin("thread");
            end("thread");
        }).join();
    });
    return directory.only_file();
}

}  // namespace

TEST(what_a_dead_process_recorded_is_recovered) {
    const Directory directory;
    const std::string file = recorded_file(directory, 10'000);
    CHECK(file.ends_with(record::session_file_suffix));
    const trace::Trace trace = trace::build_trace(record::recover_session_file(file));
    CHECK(count(trace, "inner", true) == 10'000);
    CHECK(count(trace, "thread", true) == 1);
    CHECK(count(trace, "outer", false) == 1);
    CHECK(trace.size() == 10'002);
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.depth[1] == 1);
}

TEST(a_session_that_stops_leaves_no_file) {
    const Directory directory;
    const auto session = Recorder::instance().start(in(directory));
    CHECK(!directory.only_file().empty());
    begin("scope");
    end("scope");
    const trace::Trace trace = trace::build_trace(Recorder::instance().stop(session));
    CHECK(count(trace, "scope", true) == 1);
    CHECK(directory.only_file().empty());
}

TEST(scopes_open_when_the_file_begins_move_into_it) {
    const Directory directory;
    in_child([&] {
        Recorder::instance().start({});
        begin("already open");
        Recorder::instance().start(in(directory));
        begin("inside");
        end("inside");
    });
    const trace::Trace trace = trace::build_trace(record::recover_session_file(directory.only_file()));
    CHECK(count(trace, "inside", true) == 1);
    CHECK(count(trace, "already open", false) == 1);
}

TEST(a_damaged_file_never_crashes) {
    const Directory directory;
    const std::string file = recorded_file(directory, 3000);
    std::ifstream input(file, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(input)), {});
    std::mt19937 random(1);
    const std::string damaged = directory.path + "/damaged";
    for (int round = 0; round < 300; ++round) {
        std::string bytes = whole.substr(0, round % 3 == 0 ? random() % whole.size() : whole.size());
        for (int flip = 0; flip < 20 && !bytes.empty(); ++flip)
            bytes[random() % std::min<size_t>(bytes.size(), 300'000)] = char(random());
        std::ofstream(damaged, std::ios::binary) << bytes;
        try {
            trace::build_trace(record::recover_session_file(damaged));
        } catch (const std::exception&) {
        }
    }
}

TEST(a_file_of_something_else_is_refused) {
    const Directory directory;
    const std::string file = directory.path + "/other";
    std::ofstream(file) << std::string(200'000, 'x');
    bool refused = false;
    try {
        record::recover_session_file(file);
    } catch (const std::runtime_error&) {
        refused = true;
    }
    CHECK(refused);
}

TEST(a_program_that_closes_our_descriptors_keeps_its_own_files) {
    const Directory directory;
    const Directory other;
    const std::string theirs = other.path + "/theirs";
    const std::string content(1 << 20, 'x');
    in_child([&] {
        Recorder::instance().start(in(directory));
        for (int descriptor = 3; descriptor < 64; ++descriptor) close(descriptor);
        std::ofstream file(theirs, std::ios::binary);
        file << content << std::flush;
        for (int i = 0; i < 400'000; ++i) {
            begin("scope");
            end("scope");
        }
        file.close();
    });
    CHECK(fs::file_size(theirs) == content.size());
    std::ifstream input(theirs, std::ios::binary);
    CHECK(std::string((std::istreambuf_iterator<char>(input)), {}) == content);
}

TEST(times_far_from_the_last_anchor_are_recovered_exactly) {
    const Directory directory;
    int pipe_ends[2];
    CHECK(pipe(pipe_ends) == 0);
    in_child([&] {
        Recorder::instance().start(in(directory));
        const int64_t before_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
        begin("long");
        const int64_t begun_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
        while (base::read_clock_ns(CLOCK_MONOTONIC_RAW) < begun_ns + 300'000'000) std::this_thread::yield();
        const int64_t end_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW);
        end("long");
        const int64_t bounds_ns[2] = {end_ns - begun_ns,
                                      base::read_clock_ns(CLOCK_MONOTONIC_RAW) - before_ns};
        CHECK(write(pipe_ends[1], bounds_ns, sizeof bounds_ns) == sizeof bounds_ns);
    });
    int64_t bounds_ns[2] = {};
    CHECK(read(pipe_ends[0], bounds_ns, sizeof bounds_ns) == sizeof bounds_ns);
    const trace::Trace trace = trace::build_trace(record::recover_session_file(directory.only_file()));
    CHECK(trace.size() == 1);
    CHECK(trace.duration_ns[0] >= bounds_ns[0] - 2'000 && trace.duration_ns[0] <= bounds_ns[1] + 2'000);
}

CHECK_MAIN
