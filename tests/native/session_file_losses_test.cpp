// What a process lost before it was killed is told by its session file.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "record/session_file.h"
#include "session_files.h"

using namespace kinetograph;
using namespace kinetograph::test;
using record::Recorder;

namespace {

trace::Trace recovered(const Directory& directory) {
    return trace::build_trace(record::recover_session_file(directory.only_file()));
}

void write_version(const std::string& path, uint32_t version) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(record::SessionFileHeader, version));
    file.write(reinterpret_cast<const char*>(&version), sizeof version);
}

std::atomic<int> asked_for_room{0}, got_room{INT_MAX};

}  // namespace

extern "C" __attribute__((visibility("default"))) int posix_fallocate(int descriptor, off_t offset,
                                                                      off_t bytes) {
    return ++asked_for_room > got_room ? ENOSPC : ftruncate(descriptor, offset + bytes);
}

TEST(losses_of_all_threads_are_notes) {
    const Directory directory;
    in_child([&] {
        Recorder::instance().start(in(directory));
        scope("outer");
        for (int i = 0; i < 3; ++i)
            std::thread([] {
                end("never begun");
                record::count_loss(this_thread(), &record::LossCounts::brief, 10);
            }).join();
        record::count_loss(this_thread(), &record::LossCounts::torn);
        record::count_loss(this_thread(), &record::LossCounts::missed, 4);
        const std::string payload(100'000, ' ');
        record::append_with_payload(this_thread(), {1, 1, 1, record::RecordKind::instant, 8, 0, 0, 0, 0, 0},
                                    nullptr, payload.data(), payload.size());
    });
    const trace::Trace trace = recovered(directory);
    CHECK(note(trace, "unbalanced").starts_with("3 scopes ended"));
    CHECK(note(trace, "brief").starts_with("30 calls"));
    CHECK(note(trace, "torn").starts_with("1 stacks"));
    CHECK(note(trace, "missed").starts_with("4 rounds"));
    CHECK(note(trace, "oversized").starts_with("1 events lost their arguments"));
    CHECK(note(trace, "dropped").empty() && note(trace, "threads").empty());
}

TEST(a_disk_that_is_full_is_asked_now_and_then_and_what_has_no_room_is_told) {
    constexpr int many = 500'000, scopes = 3'000, threads = 4;
    const Directory directory;
    in_child([&] {
        got_room = 2;  // for the header and a first segment
        Recorder::instance().start(in(directory));
        for (int i = 0; i < many; ++i) scope("recorded");
        CHECK(this_thread().losses.dropped > 0);
        asked_for_room = got_room.load();
        for (int i = 0; i < threads; ++i)
            std::thread([] {
                for (int each = 0; each < scopes; ++each) scope("recorded");
            }).join();
        CHECK(asked_for_room - got_room <= 6 * threads);  // twice at first, and at each 1,024th event
    });
    const trace::Trace trace = recovered(directory);
    const int dropped = std::stoi(note(trace, "dropped"));
    CHECK(trace.size() > 0 && int(trace.size()) + dropped == many + threads * scopes);
}

TEST(a_process_that_never_had_room_tells_what_it_lost) {
    const Directory directory;
    in_child([&] {
        got_room = 1;
        Recorder::instance().start(in(directory));
        for (int i = 0; i < 2'049; ++i) scope("not recorded");
    });
    const trace::Trace trace = recovered(directory);
    CHECK(trace.size() == 0 && note(trace, "dropped").starts_with("2049 events"));
}

TEST(only_what_was_lost_since_the_file_began_is_told) {
    const Directory directory;
    in_child([&] {
        record::SessionOptions before;
        before.all_threads = true;
        const auto session = Recorder::instance().start(before);
        end("never begun");
        Recorder::instance().start(in(directory));
        end("never begun");
        Recorder::instance().stop(session);
        end("never begun");
    });
    CHECK(note(recovered(directory), "unbalanced").starts_with("2 scopes ended"));
}

TEST(a_file_that_was_cut_says_so) {
    const Directory directory;
    in_child([&] {
        Recorder::instance().start(in(directory));
        for (int i = 0; i < 200'000; ++i) scope("recorded");
    });
    const size_t whole = recovered(directory).size();
    CHECK(whole == 200'000 && note(recovered(directory), "truncated").empty());
    const std::string file = directory.only_file();
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
    CHECK(recovered(directory).size() < whole && !note(recovered(directory), "truncated").empty());
}

TEST(names_that_were_cut_and_what_recording_cost_are_told) {
    const Directory directory;
    in_child([&] {
        Recorder::instance().start(in(directory));
        scope(std::string(base::StringTable::max_length + 1, 'x'));
    });
    const trace::Trace trace = recovered(directory);
    CHECK(note(trace, "names").find("names were longer than 32 KiB and were cut") != std::string::npos);
    CHECK(note(trace, "cost").starts_with("recording cost about "));
}

TEST(scopes_of_other_threads_are_told_where_threads_were_chosen) {
    const Directory directory;
    in_child([&] {
        record::SessionOptions options = in(directory);
        options.all_threads = false;
        Recorder::instance().start(options);
        scope("chosen");
        std::thread([] {
            CHECK(!record::recording_thread());
            record::count_loss(*record::current_thread, &record::LossCounts::unrecorded);
        }).join();
    });
    CHECK(note(recovered(directory), "threads").starts_with("1 scopes of other threads"));
}

TEST(files_of_the_version_before_are_read_and_others_refused) {
    const Directory directory;
    in_child([&] {
        Recorder::instance().start(in(directory));
        scope("recorded");
    });
    const std::string file = directory.only_file();
    write_version(file, 1);
    CHECK(count(recovered(directory), "recorded") == 1);
    write_version(file, 9);
    try {
        record::recover_session_file(file);
        CHECK(false);
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what())
                  .ends_with("has session file version 9, this Kinetograph reads versions 1 to 2"));
    }
}

CHECK_MAIN
