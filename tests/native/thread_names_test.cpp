// Names of threads: given by themselves, by others, before their first event, and found out.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "record/given_names.h"
#include "record/session_file.h"
#include "session_files.h"

using namespace kinetograph;
using namespace kinetograph::test;
using record::GivenNames;
using record::Recorder;

namespace {

Recorder& recorder() {
    return Recorder::instance();
}

int32_t this_tid() {
    return int32_t(syscall(SYS_gettid));
}

// A thread that does as it is told, one thing after the other.
class Worker {
public:
    Worker()
        : thread_([this] {
              tid_ = this_tid();
              while (!is_over_) run_if_wanted();
          }) {
        while (tid_ == 0) std::this_thread::yield();
    }
    // A thread can be joined before the kernel has let go of its number.
    ~Worker() {
        is_over_ = true;
        thread_.join();
        const std::string folder = "/proc/self/task/" + std::to_string(tid_);
        while (access(folder.c_str(), F_OK) == 0) std::this_thread::yield();
    }
    int32_t tid() const { return tid_; }
    template <class Work>
    void begin(Work&& work) {
        work_ = work;
        is_done_ = false;
        is_wanted_ = true;
    }
    void wait() const {
        while (!is_done_) std::this_thread::yield();
    }
    template <class Work>
    void run(Work&& work) {
        begin(work);
        wait();
    }
    bool is_asleep() const {
        std::ifstream file("/proc/self/task/" + std::to_string(tid_) + "/stat");
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        return text.find(") S ") != std::string::npos;
    }

private:
    void run_if_wanted() {
        if (!is_wanted_.exchange(false)) return std::this_thread::yield();  // never asleep by itself
        work_();
        is_done_ = true;
    }

    std::atomic<int32_t> tid_{0};
    std::atomic<bool> is_wanted_{false}, is_done_{false}, is_over_{false};
    std::function<void()> work_;
    std::thread thread_;
};

std::string track_of(const trace::Trace& trace, std::string_view name) {
    return trace.tracks[trace.track[row_of(trace, name)]].name;
}

trace::Trace recovered(const Directory& directory) {
    return trace::build_trace(record::recover_session_file(directory.only_file()));
}

record::SessionOptions of_all_threads() {
    record::SessionOptions options;
    options.all_threads = true;
    return options;
}

}  // namespace

TEST(only_names_of_living_threads_are_kept) {
    GivenNames names;
    for (const int32_t tid : {0, -1, INT32_MIN, INT32_MAX, int32_t(getppid())})
        names.give(tid, "no thread of ours");
    CHECK(names.all().empty());
    {
        const Worker worker;
        names.give(worker.tid(), "first");
        names.give(worker.tid(), "second");
        names.forget_ended();
        CHECK(names.all().size() == 1 && names.all().at(worker.tid()) == "second");
        CHECK(names.take(worker.tid()) == "second" && names.take(worker.tid()).empty());
        names.give(worker.tid(), "third");
        names.give(worker.tid(), "");
        CHECK(names.all().empty());
        names.give(worker.tid(), "last");
    }
    names.forget_ended();
    CHECK(names.all().empty());
}

TEST(names_of_threads_that_have_ended_make_room) {
    GivenNames names;
    for (int i = 0; i < 2'500; ++i) std::thread([&] { names.give(this_tid(), "short-lived"); }).join();
    CHECK(names.all().size() <= 1'000);
}

TEST(a_thread_that_a_library_has_named_is_called_so_unless_a_name_is_given) {
    const auto session = recorder().start(of_all_threads());
    std::thread([] { scope("of nobody"); }).join();
    std::thread([] {
        pthread_setname_np(pthread_self(), "pt_worker");
        scope("of a library");
    }).join();
    std::thread([] {
        pthread_setname_np(pthread_self(), "pt_worker");
        recorder().suggest_thread_name("found");
        scope("of Python");
    }).join();
    const trace::Trace trace = trace::build_trace(recorder().stop(session));
    CHECK(!track_of(trace, "of nobody").ends_with(")"));
    CHECK(track_of(trace, "of a library").ends_with("(pt_worker)"));
    CHECK(track_of(trace, "of Python").ends_with("(found)"));
}

TEST(a_found_name_gives_way_to_a_given_one_and_not_to_none) {
    const auto session = recorder().start(of_all_threads());
    Worker worker;
    recorder().give_thread_name(worker.tid(), "given");
    worker.run([] {
        recorder().suggest_thread_name("found");
        scope("given first");
    });
    CHECK(track_of(trace::build_trace(recorder().stop(session)), "given first").ends_with("(given)"));
    const auto next = recorder().start(of_all_threads());
    recorder().give_thread_name(worker.tid(), "");
    worker.run([] {
        recorder().suggest_thread_name("found");
        scope("given none");
    });
    CHECK(track_of(trace::build_trace(recorder().stop(next)), "given none").ends_with("(found)"));
}

TEST(the_last_name_counts_also_where_a_file_has_an_older_one) {
    const Directory directory;
    const auto session = recorder().start(in(directory));
    Worker worker;
    worker.run([&] {
        recorder().give_thread_name(worker.tid(), "older");
        scope("once");
    });
    recorder().give_thread_name(worker.tid(), "newer");
    CHECK(track_of(trace::build_trace(recorder().stop(session)), "once").ends_with("(newer)"));
}

TEST(a_name_given_in_a_pause_reaches_the_file) {
    const Directory directory;
    in_child([&] {
        const auto session = recorder().start(in(directory));
        recorder().give_thread_name(this_tid(), "before");
        scope("main");
        recorder().pause(session);
        recorder().give_thread_name(this_tid(), "meanwhile");
        recorder().resume(session);
        scope("main");
    });
    CHECK(track_of(recovered(directory), "main").ends_with("(meanwhile)"));
}

// Whoever interns holds the lock of the strings, for which the owner waits with the first name in hand.
TEST(a_name_that_comes_while_another_is_taken_over_reaches_the_file) {
    const Directory directory;
    in_child([&] {
        recorder().start(in(directory));
        Worker worker;
        worker.run([] { scope("worker"); });
        recorder().give_thread_name(worker.tid(), "first");
        recorder().strings().mutex().lock();
        worker.begin([] {
            scope("worker");
            scope("worker");
        });
        while (!worker.is_asleep()) std::this_thread::yield();
        recorder().give_thread_name(worker.tid(), "last");
        recorder().strings().mutex().unlock();
        worker.wait();
        _exit(0);
    });
    CHECK(track_of(recovered(directory), "worker").ends_with("(last)"));
}

CHECK_MAIN
