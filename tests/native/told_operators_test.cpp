// Operators that are still open when their session ends: what they were called with is there, whoever stops
// the session, and however the process ends.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "check.h"
#include "format/json_check.h"
#include "found.h"
#include "record/recorder.h"
#include "record/session_file.h"
#include "record_table.h"
#include "session_files.h"
#include "trace/builder.h"

using namespace kinetograph;
using record::Recorder;
using test::count;
using test::row_of;
using test::table;
using test::text;

namespace {

kinetograph_operator called_with(std::string_view inputs) {
    kinetograph_operator told{};
    told.sequence = -1;
    told.inputs_text = inputs.data();
    told.inputs_bytes = uint32_t(inputs.size());
    return told;
}

kinetograph_operator numbered(int64_t sequence, uint32_t inputs, uint32_t members = 0) {
    kinetograph_operator told{};
    told.sequence = sequence;
    told.inputs = inputs;
    told.members = members;
    return told;
}

std::string dims(size_t size) {
    return "\"Input Dims\":[[" + std::to_string(size) + "]]";
}

struct Open {
    uint64_t begun;
    bool is_told = false;
};

Open begin(std::string_view name, const kinetograph_operator& told) {
    const uint64_t begun = table().begin_operator(text(name), 0, 0, 0);
    return {begun, table().tell_open_operator(begun, &told) != 0};
}

// One that was not told of at its begin is told of now.
void end(Open open, const kinetograph_operator& told) {
    if (open.is_told) return table().end_told_operator(open.begun, told.flops, 0);
    table().end_operator_with(open.begun, &told, 0);
}

record::SessionOptions of_all_threads() {
    record::SessionOptions options;
    options.all_threads = true;
    return options;
}

trace::BuildOptions wanting(bool input_shapes) {
    trace::BuildOptions options;
    options.wanted.input_shapes = input_shapes;
    options.clean_members = format::clean_members;
    return options;
}

trace::Trace trace_of(record::SessionId session, bool input_shapes = true) {
    return trace::build_trace(Recorder::instance().stop(session), wanting(input_shapes));
}

void check_open(const trace::Trace& trace, std::string_view name, std::string_view args) {
    const size_t row = row_of(trace, name);
    CHECK(trace.flags[row] & trace::event_unfinished);
    CHECK(trace.args_of(row) == args);
}

}  // namespace

TEST(one_that_goes_on_has_what_was_told_of_it) {
    const uint32_t inputs = text(dims(2)), members = text("\"Overload name\":\"out\"");
    for (const bool wanted : {true, false}) {
        const auto session = Recorder::instance().start({});
        kinetograph_operator told = numbered(5, inputs, members);
        told.number = 9;
        const Open begun = begin("shared", told);
        const trace::Trace trace = trace_of(session, wanted);
        const std::string rest = "\"Fwd thread id\":0,\"Overload name\":\"out\"";
        check_open(trace, "shared", wanted ? dims(2) + "," + rest : rest);
        CHECK(trace.sequence[row_of(trace, "shared")] == 5);
        CHECK(trace.record_function[row_of(trace, "shared")] == 9);
        end(begun, {});
    }
}

TEST(inputs_that_came_as_text_are_there_for_those_who_want_them) {
    for (const bool wanted : {true, false}) {
        const auto session = Recorder::instance().start({});
        const Open begun = begin("operator", called_with(dims(17)));
        check_open(trace_of(session, wanted), "operator", wanted ? dims(17) : "");
        end(begun, {});
    }
}

TEST(those_that_have_ended_leave_nothing_to_those_that_go_on) {
    const auto session = Recorder::instance().start({});
    begin("outer", called_with(dims(1)));
    for (size_t i = 0; i < 1'000; ++i) {
        const std::string inputs = dims(i);
        end(begin("inner", called_with(inputs)), called_with(inputs));
    }
    const Open untold{table().begin_operator(text("untold"), 0, 0, 0)};
    const trace::Trace trace = trace_of(session);
    check_open(trace, "outer", dims(1));
    check_open(trace, "untold", "");
    CHECK(count(trace, "inner") == 1'000);
    for (size_t row = 0, i = 0; row < trace.size(); ++row)
        if (trace.strings[trace.name[row]] == "inner") CHECK(trace.args_of(row) == dims(i++));
    end(untold, {});
}

TEST(ends_may_come_in_another_order_than_begins) {
    const auto session = Recorder::instance().start({});
    const Open first = begin("first", called_with(dims(1)));
    const Open second = begin("second", called_with(dims(2)));
    begin("third", called_with(dims(3)));
    end(second, called_with(dims(2)));
    const Open fourth = begin("fourth", called_with(dims(4)));
    end(first, called_with(dims(1)));
    end(fourth, called_with(dims(4)));
    begin("fifth", called_with(dims(5)));
    const trace::Trace trace = trace_of(session);
    for (size_t i = 1; i <= 5; ++i) {
        constexpr std::string_view names[] = {"first", "second", "third", "fourth", "fifth"};
        const size_t row = row_of(trace, names[i - 1]);
        CHECK(trace.args_of(row) == dims(i));
        CHECK(bool(trace.flags[row] & trace::event_unfinished) == (i == 3 || i == 5));
    }
}

TEST(however_many_are_open_each_has_its_own) {
    const auto session = Recorder::instance().start({});
    for (size_t i = 0; i < 700; ++i) begin("operator " + std::to_string(i), called_with(dims(i)));
    const trace::Trace trace = trace_of(session);
    for (size_t i = 0; i < 700; ++i) check_open(trace, "operator " + std::to_string(i), dims(i));
}

TEST(what_has_no_room_is_told_at_the_end_and_costs_no_other) {
    const std::string large = "\"Input Dims\":[" + std::string(40'000, '1') + "]";
    const auto session = Recorder::instance().start({});
    const Open first = begin("first", called_with(large));
    const Open second = begin("second", called_with(large));
    begin("third", called_with(dims(3)));
    end(second, called_with(large));
    const trace::Trace trace = trace_of(session);
    check_open(trace, "first", large);
    check_open(trace, "third", dims(3));
    CHECK(trace.args_of(row_of(trace, "second")) == large);
    end(first, {});
}

TEST(a_session_sees_nothing_of_what_an_earlier_one_left_open) {
    const auto earlier = Recorder::instance().start({});
    begin("left", called_with(dims(1)));
    CHECK(count(trace_of(earlier), "left") == 1);
    const auto session = Recorder::instance().start({});
    const Open begun{table().begin_operator(text("open"), 0, 0, 0)};
    begin("told", called_with(dims(2)));
    const trace::Trace trace = trace_of(session);
    check_open(trace, "open", "");
    check_open(trace, "told", dims(2));
    end(begun, {});
}

TEST(one_that_ends_in_a_pause_has_been_told_of_at_its_begin) {
    const auto session = Recorder::instance().start({});
    const Open begun = begin("cut", called_with(dims(1)));
    Recorder::instance().pause(session);
    end(begun, called_with(dims(1)));
    Recorder::instance().resume(session);
    check_open(trace_of(session), "cut", dims(1));
}

TEST(a_killed_process_has_left_what_it_hangs_in) {
    const test::Directory directory;
    test::in_child([&] {
        Recorder::instance().start(test::in(directory));
        begin("outer", numbered(3, text(dims(1))));
        end(begin("ended", called_with(dims(2))), called_with(dims(2)));
        begin("inner", called_with(dims(3)));
    });
    const trace::Trace trace =
        trace::build_trace(record::recover_session_file(directory.only_file()), wanting(true));
    check_open(trace, "outer", dims(1) + ",\"Fwd thread id\":0");
    check_open(trace, "inner", dims(3));
    CHECK(count(trace, "ended") == 1);
}

TEST(a_file_that_is_begun_later_has_what_was_open_before) {
    const test::Directory directory;
    test::in_child([&] {
        Recorder::instance().start(of_all_threads());
        begin("outer", called_with(dims(1)));
        Recorder::instance().start(test::in(directory));
        begin("inner", called_with(dims(2)));
    });
    const trace::Trace trace =
        trace::build_trace(record::recover_session_file(directory.only_file()), wanting(true));
    check_open(trace, "outer", dims(1));
    check_open(trace, "inner", dims(2));
}

// A piece of its own, of 64 KiB, is what each would take that finds no room.
TEST(threads_that_come_and_go_share_the_room_for_what_they_tell) {
    const auto session = Recorder::instance().start(of_all_threads());
    const size_t before = Recorder::instance().memory_bytes();
    constexpr size_t threads = 2'000;
    for (size_t i = 0; i < threads; ++i)
        std::thread([] { end(begin("operator", called_with(dims(1))), {}); }).join();
    CHECK(Recorder::instance().memory_bytes() - before < threads * 8'192);
    CHECK(count(trace_of(session), "operator") == threads);
}

namespace {

// The names of operators tell what their inputs have to be.
void tell(size_t i) {
    const std::string outer = dims(i), inner = dims(i + 1);
    const Open around = begin("operator " + std::to_string(i % 64), called_with(outer));
    const Open within = begin("operator " + std::to_string((i + 1) % 64), called_with(inner));
    end(within, called_with(inner));
    end(around, called_with(outer));
}

// And how many of those that go on were told of.
size_t check_told(const trace::Trace& trace) {
    size_t told = 0;
    for (size_t row = 0; row < trace.size(); ++row) {
        const std::string_view args = trace.args_of(row), name = trace.strings[trace.name[row]];
        if (args.empty()) continue;
        told += bool(trace.flags[row] & trace::event_unfinished);
        const size_t size = std::stoul(std::string(args.substr(args.find("[[") + 2)));
        CHECK(args == dims(size));
        CHECK(name == "operator " + std::to_string(size % 64));
    }
    return told;
}

}  // namespace

// Whatever the moment: an operator has its own inputs, or none where it had not been told of yet.
TEST(a_stop_by_another_thread_never_mixes_what_belongs_to_two) {
    std::atomic<bool> is_done{false}, is_running{false};
    std::thread worker([&] {
        for (size_t i = 0; !is_done.load(); ++i) {
            tell(i);
            is_running = true;
        }
    });
    while (!is_running) std::this_thread::yield();
    size_t told = 0;
    // On a busy machine the worker seldom runs between a start and a stop.
    for (int round = 0; round < 300 || told == 0; ++round) {
        const auto session = Recorder::instance().start(of_all_threads());
        told += check_told(trace_of(session));
    }
    is_done = true;
    worker.join();
}

TEST(nor_does_reading_the_file_of_a_process_that_goes_on) {
    const test::Directory directory;
    int ready[2];
    CHECK(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        record::SessionOptions options = test::in(directory);
        options.ring_bytes = 4 * record::slab_bytes;
        Recorder::instance().start(options);
        for (size_t i = 0;; ++i) {
            tell(i);
            if (i == 1'000 && write(ready[1], "r", 1) != 1) _exit(1);
        }
    }
    char byte = 0;
    CHECK(read(ready[0], &byte, 1) == 1);
    for (int i = 0; i < 100; ++i)
        check_told(trace::build_trace(record::recover_session_file(directory.only_file()), wanting(true)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    check_told(trace::build_trace(record::recover_session_file(directory.only_file()), wanting(true)));
}

CHECK_MAIN
