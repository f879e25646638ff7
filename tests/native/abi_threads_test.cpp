// The C table from several threads while sessions come and go; for ThreadSanitizer before all.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "record/recorder.h"
#include "record_table.h"
#include "trace/builder.h"

using namespace kinetograph;
using test::table;

namespace {

// Everything the table can record, once.
void record_all(int number) {
    const std::string text = "name " + std::to_string(number % 20);
    const uint32_t outer = table().intern("outer", 5), inner = table().intern(text.data(), text.size());
    table().begin(outer, 1, 7);
    table().begin(inner, 0, 0);
    const kinetograph_event event{inner, 0, 0, 0, 0, table().ticks(), table().ticks(), 3, 5, "\"a\":1"};
    table().span(&event);
    table().instant(&event);
    table().counter(outer, number);
    const int64_t now = table().wall_ns();
    const kinetograph_device_event kernel{outer, 4, 1, {}, 0, 3, number % 4, now, now + 10, 0, nullptr};
    table().device_span(&kernel);
    const uint32_t made_up = table().intern_annotation("domain", 6, text.data(), text.size());
    kinetograph_event half = event;
    half.category = KINETOGRAPH_ANNOTATION;
    half.name = made_up;
    table().range_begin(uint64_t(number), &half);
    table().begin(made_up, KINETOGRAPH_ANNOTATION, 7);
    table().annotation_counter(made_up, table().ticks(), number);
    table().end_with(made_up, "\"b\":2", 5);
    table().range_end(uint64_t(number), &half);
    if (number % 100 == 0) {
        static std::atomic<int32_t> last_tid{0};
        table().name_thread(text.data(), text.size());
        const int32_t other = last_tid.exchange(int32_t(syscall(SYS_gettid)));
        table().name_thread_by_id(other, text.data(), text.size());
    }
    table().end(inner);
    table().end(outer);
}

kinetograph_session_options options(uint64_t ring_bytes = 0) {
    return {sizeof(kinetograph_session_options), 1, 1 << 24, ring_bytes, 0, nullptr};
}

// Threads that record until they are told to stop, each replaced by a new one now and then.
class Recording {
public:
    explicit Recording(int count) {
        for (int i = 0; i < count; ++i)
            keepers_.emplace_back([this] {
                while (!done_.load(std::memory_order_relaxed)) std::thread([this] { run(); }).join();
            });
    }
    ~Recording() {
        done_ = true;
        for (std::thread& keeper : keepers_) keeper.join();
    }
    void wait_for_more() const {
        const uint64_t before = recorded_.load();
        while (recorded_.load() < before + 20) std::this_thread::yield();
    }

private:
    void run() {
        for (int i = 0; i < 300 && !done_.load(std::memory_order_relaxed); ++i) {
            record_all(i);
            recorded_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    std::atomic<bool> done_{false};
    std::atomic<uint64_t> recorded_{0};
    std::vector<std::thread> keepers_;
};

}  // namespace

TEST(threads_record_through_the_table_while_sessions_come_and_go) {
    const Recording recording(3);
    for (int round = 0; round < 40; ++round) {
        const auto plain = options(), ring = options(1 << 21);
        const uint64_t first = table().session_start(&plain);
        const uint64_t second = table().session_start(&ring);
        CHECK(first != 0 && second != 0);
        recording.wait_for_more();
        CHECK(table().session_discard(first) == 0);
        const trace::Trace trace = trace::build_trace(record::Recorder::instance().stop(second));
        CHECK(trace.size() > 0);
    }
}

TEST(sessions_are_started_and_ended_by_several_threads_at_once) {
    const Recording recording(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([] {
            for (int round = 0; round < 60; ++round) {
                const auto plain = options();
                const uint64_t session = table().session_start(&plain);
                record_all(round);
                CHECK(table().session_discard(session) == 0);
                CHECK(table().session_discard(session) != 0);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

CHECK_MAIN
