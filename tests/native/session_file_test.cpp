// Recording into a file that outlives the process.
#include "record/session_file.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "check.h"
#include "format/json_check.h"
#include "record/recorder.h"
#include "session_files.h"
#include "trace/builder.h"
#include "traces.h"

using namespace kinetograph;
using record::Recorder;
using test::begin;
using test::Directory;
using test::end;
using test::in;
using test::in_child;
using test::row_of;
using test::scope;
namespace fs = std::filesystem;

namespace {

size_t count_of(const trace::Trace& trace, std::string_view name, bool finished) {
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

trace::BuildOptions cleaned() {
    trace::BuildOptions options;
    options.clean_members = format::clean_members;
    return options;
}

bool can_be_loaded(const trace::Trace& trace) {
    return test::read(test::written(trace)).size() == trace.size() &&
           test::read_perfetto(test::written_perfetto(trace)).size() == trace.size();
}

// Those of the first extent that fills a slab.
template <class Change>
void change_records(const std::string& file, Change&& change) {
    std::string bytes(fs::file_size(file), 0);
    std::ifstream(file, std::ios::binary).read(bytes.data(), std::streamsize(bytes.size()));
    for (size_t at = record::session_header_bytes; at < bytes.size(); at += record::slab_bytes) {
        auto& extent = *reinterpret_cast<record::ExtentHeader*>(bytes.data() + at);
        if (extent.kind != record::ExtentKind::records || extent.used() < record::slab_units) continue;
        change(extent.records());
        break;
    }
    std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace

TEST(what_a_dead_process_recorded_is_recovered) {
    const Directory directory;
    const std::string file = recorded_file(directory, 10'000);
    CHECK(file.ends_with(record::session_file_suffix));
    const trace::Trace trace = trace::build_trace(record::recover_session_file(file));
    CHECK(count_of(trace, "inner", true) == 10'000);
    CHECK(count_of(trace, "thread", true) == 1);
    CHECK(count_of(trace, "outer", false) == 1);
    CHECK(trace.size() == 10'002);
    const trace::Nesting nesting = trace::nest(trace);
    CHECK(nesting.depth[1] == 1);
}

TEST(a_file_has_the_names_of_threads_whoever_gave_them) {
    const Directory directory;
    in_child([&] {
        Recorder& recorder = Recorder::instance();
        recorder.start(in(directory));
        const auto main_tid = int32_t(syscall(SYS_gettid));
        scope("main");
        std::thread([&] {
            recorder.give_thread_name(int32_t(syscall(SYS_gettid)), "its own");
            recorder.suggest_thread_name("found out");
            scope("worker");
            recorder.give_thread_name(main_tid, "the worker's");
        }).join();
        scope("main");
    });
    const trace::Trace trace = trace::build_trace(record::recover_session_file(directory.only_file()));
    CHECK(trace.tracks[trace.track[row_of(trace, "main")]].name.ends_with("(the worker's)"));
    CHECK(trace.tracks[trace.track[row_of(trace, "worker")]].name.ends_with("(its own)"));
}

TEST(a_session_that_stops_leaves_no_file) {
    const Directory directory;
    const auto session = Recorder::instance().start(in(directory));
    CHECK(!directory.only_file().empty());
    begin("scope");
    end("scope");
    const trace::Trace trace = trace::build_trace(Recorder::instance().stop(session));
    CHECK(count_of(trace, "scope", true) == 1);
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
    CHECK(count_of(trace, "inside", true) == 1);
    CHECK(count_of(trace, "already open", false) == 1);
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
        std::optional<trace::Trace> trace;
        try {
            trace = trace::build_trace(record::recover_session_file(damaged), cleaned());
        } catch (const std::exception&) {
        }
        CHECK(!trace || can_be_loaded(*trace));
    }
}

TEST(times_that_cannot_be_are_left_out) {
    const Directory directory;
    const std::string file = recorded_file(directory, 10'000);
    for (const uint64_t tick : {uint64_t(1) << 60, uint64_t(1) << 62, uint64_t(1) << 63, UINT64_MAX}) {
        change_records(file, [&](record::Record* records) {
            records[10].end = tick;
            records[20].start = records[20].end = tick;
        });
        const trace::Trace trace = trace::build_trace(record::recover_session_file(file), cleaned());
        CHECK(count_of(trace, "inner", true) == 9998 && count_of(trace, "inner", false) == 1);
        CHECK(trace.window_end_ns - trace.window_start_ns < 100'000'000'000);
        CHECK(trace.notes.at(0).kind == "damaged" && trace.notes[0].text.starts_with("2 events had times"));
        CHECK(can_be_loaded(trace));
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

// A descriptor that is taken from under another thread is a race, and this is about nothing else.
#if !defined(__SANITIZE_THREAD__)
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
#endif

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

TEST(a_file_says_whose_it_is_and_whether_its_process_still_writes) {
    const Directory directory;
    int ready[2], go_on[2];
    CHECK(pipe(ready) == 0 && pipe(go_on) == 0);
    const pid_t child = fork();
    if (child == 0) {
        Recorder::instance().set_process_name("python app.py");
        Recorder::instance().start(in(directory));
        char byte = 0;
        const bool is_told = write(ready[1], &byte, 1) == 1 && read(go_on[0], &byte, 1) == 1;
        Recorder::instance().mark_end();
        _exit(is_told ? 0 : 1);
    }
    char byte = 0;
    CHECK(read(ready[0], &byte, 1) == 1);
    const std::string file = directory.only_file();
    const record::SessionFileInfo running = record::read_session_file_info(file);
    CHECK(running.is_in_use && !running.has_ended);
    CHECK(running.pid == child && running.parent_pid == getpid() && running.process_name == "python app.py");
    CHECK(record::trim_session_file(file) == 0);
    CHECK(write(go_on[1], &byte, 1) == 1);
    CHECK(waitpid(child, nullptr, 0) == child);
    const record::SessionFileInfo ended = record::read_session_file_info(file);
    CHECK(!ended.is_in_use && ended.has_ended);
    const trace::Trace trace = trace::build_trace(record::recover_session_file(file));
    CHECK(trace.processes[0].name == "python app.py");
    for (const trace::Note& note : trace.notes) CHECK(note.kind != "recovered");
}

TEST(trimming_gives_empty_slabs_back_and_loses_nothing) {
    const Directory directory;
    const std::string file = recorded_file(directory, 10'000);
    const uint64_t size = fs::file_size(file);
    CHECK(record::trim_session_file(file) > 0);
    CHECK(fs::file_size(file) == size);
    const trace::Trace trace = trace::build_trace(record::recover_session_file(file));
    CHECK(trace.size() == 10'002 && count_of(trace, "outer", false) == 1);
}

TEST(open_scopes_last_until_the_end_that_somebody_has_seen) {
    const Directory directory;
    const std::string file = recorded_file(directory, 1);
    record::RecoverOptions options;
    options.ended_raw_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW) + 5'000'000'000;
    const trace::Trace trace = trace::build_trace(record::recover_session_file(file, options));
    CHECK(trace.strings[trace.name[0]] == "outer" && trace.duration_ns[0] > 4'900'000'000);
}

TEST(what_a_ring_held_for_the_end_is_there_however_late_that_comes) {
    for (const bool is_held : {false, true}) {
        const Directory directory;
        in_child([&] {
            const record::SessionId session = Recorder::instance().start(in(directory));
            scope("last");
            Recorder::instance().hold_ring(session, is_held);
        });
        record::RecoverOptions options;
        options.keep_ns = 1'000'000'000;
        options.ended_raw_ns = base::read_clock_ns(CLOCK_MONOTONIC_RAW) + 5 * options.keep_ns;
        const trace::Trace trace =
            trace::build_trace(record::recover_session_file(directory.only_file(), options));
        CHECK(count_of(trace, "last", true) == size_t(is_held));
    }
}

TEST(processes_of_one_boot_can_share_the_wall_time_of_one) {
    const Directory directory;
    const std::string file = recorded_file(directory, 1);
    const record::SessionFileInfo info = record::read_session_file_info(file);
    const trace::Trace own = trace::build_trace(record::recover_session_file(file));
    record::RecoverOptions options;
    options.wall_offset_ns = info.wall_offset_ns + 1'000'000;
    options.boot_id = info.boot_id;
    const trace::Trace shifted = trace::build_trace(record::recover_session_file(file, options));
    const int64_t shift_ns = shifted.start_ns[0] - own.start_ns[0];
    CHECK(shift_ns > 990'000 && shift_ns < 1'010'000);
    options.boot_id = "another";
    const trace::Trace foreign = trace::build_trace(record::recover_session_file(file, options));
    CHECK(foreign.start_ns[0] - own.start_ns[0] < 10'000);
}

static ptrdiff_t thread_count() {
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

TEST(no_thread_of_ours_is_there_after_a_fork) {
    const Directory directory;
    in_child([&] {
        const auto before = thread_count();         // a sanitizer may have one of its own
        Recorder::instance().start(in(directory));  // wakes the thread that makes memory ready
        const pid_t child = fork();
        if (child == 0) _exit(0);
        CHECK(thread_count() == before);
        CHECK(waitpid(child, nullptr, 0) == child);
        for (int i = 0; i < 100'000; ++i) {
            begin("after");
            end("after");
        }
    });
    CHECK(trace::build_trace(record::recover_session_file(directory.only_file())).size() == 100'000);
}

CHECK_MAIN
