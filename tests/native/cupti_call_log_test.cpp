// The log of calls into CUDA: whose they are, what is one call, and that threads may come and go.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "collect/cupti/call_log.h"

using namespace kinetograph::collect;
using namespace kinetograph::collect::cupti;

namespace {

constexpr uint32_t launch = 211, driver_launch = 307;

// Threads know the log until they end: one for all tests.
Buffers& the_buffers() {
    static Buffers* const buffers = new Buffers;
    return *buffers;
}

CallLog& the_log() {
    static CallLog* const log = new CallLog(the_buffers());
    return *log;
}

void (*within_allocation)() = nullptr;  // is called once

struct Logging {
    Logging() {
        log.switch_on();
        log.take_dropped();
    }
    ~Logging() { log.switch_off(); }
    std::vector<LoggedCall> taken() {
        log.hand_over();
        std::vector<LoggedCall> calls;
        while (std::unique_ptr<CallLog::Chunk> chunk = log.take()) {
            whose = chunk->tid;
            calls.insert(calls.end(), chunk->calls.begin(), chunk->calls.begin() + ptrdiff_t(chunk->count));
            log.give_back(std::move(chunk));
        }
        return calls;
    }
    void call(uint32_t correlation) {
        log.begin(false, launch, correlation);
        log.end(false, launch, correlation);
    }

    CallLog& log = the_log();
    int32_t whose = 0;  // what was taken last
};

}  // namespace

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    if (auto* call = std::exchange(within_allocation, nullptr)) call();
    return operator new(bytes);
}

TEST(a_call_has_its_thread_its_times_and_its_number) {
    Logging logging;
    logging.call(7);
    const std::vector<LoggedCall> calls = logging.taken();
    CHECK(calls.size() == 1);
    CHECK(calls[0].callback == launch && calls[0].correlation == 7 && !calls[0].is_driver);
    CHECK(calls[0].start != 0 && calls[0].start <= calls[0].end);
    CHECK(logging.whose == gettid());
    CHECK(logging.taken().empty());
}

TEST(calls_of_the_driver_are_told_unless_they_are_part_of_one_of_the_runtime) {
    Logging logging;
    logging.log.begin(false, launch, 1);
    logging.log.begin(true, driver_launch, 1);
    logging.log.end(true, driver_launch, 1);
    logging.log.end(false, launch, 1);
    logging.log.begin(true, driver_launch, 2);
    logging.log.end(true, driver_launch, 2);
    const std::vector<LoggedCall> calls = logging.taken();
    CHECK(calls.size() == 2);
    CHECK(!calls[0].is_driver && calls[1].is_driver);
}

TEST(a_call_that_is_part_of_another_does_not_end_it) {
    constexpr uint32_t launch_with_attributes = 652;
    Logging logging;
    logging.log.begin(true, launch_with_attributes, 1);
    logging.log.begin(true, driver_launch, 1);
    logging.log.end(true, driver_launch, 1);
    logging.log.end(true, launch_with_attributes, 1);
    const std::vector<LoggedCall> calls = logging.taken();
    CHECK(calls.size() == 1);
    CHECK(calls[0].callback == launch_with_attributes);
}

TEST(a_call_within_another_is_a_call_of_its_own) {
    Logging logging;
    logging.log.begin(false, launch, 1);
    logging.call(2);
    logging.log.end(false, launch, 1);
    const std::vector<LoggedCall> calls = logging.taken();
    CHECK(calls.size() == 2);
    CHECK(calls[0].correlation == 2 && calls[1].correlation == 1);
    CHECK(calls[1].start <= calls[0].start && calls[0].end <= calls[1].end);
}

TEST(ids_that_a_thread_has_pushed_stand_behind_each_call_in_the_same_chunk) {
    Logging logging;
    logging.log.push(ExternalId::users, 5);
    logging.call(1);
    logging.log.push(ExternalId::operators, 6);
    for (uint32_t number = 2; number <= CallLog::calls_per_chunk; ++number) logging.call(number);
    logging.log.pop(ExternalId::operators);
    logging.log.pop(ExternalId::users);
    uint32_t number = 0;
    logging.log.hand_over();
    while (std::unique_ptr<CallLog::Chunk> chunk = logging.log.take()) {
        for (size_t i = 0; i < chunk->count; i += chunk->calls[i].entries()) {
            const LoggedCall* call = &chunk->calls[i];
            CHECK(call->correlation == ++number && i + call->entries() <= chunk->count);
            CHECK(call->entries() == (number == 1 ? 2 : 3));
            CHECK(call[call->entries() - 1].start == 5);
            if (number > 1) CHECK(call[1].start == 6);
        }
        logging.log.give_back(std::move(chunk));
    }
    CHECK(number == CallLog::calls_per_chunk);
}

TEST(ends_without_a_begin_and_begins_without_an_end_harm_nobody) {
    Logging logging;
    logging.log.end(false, launch, 1);
    for (uint32_t unended = 100; unended < 200; ++unended) logging.log.begin(false, launch, unended);
    logging.log.end(false, launch, 100);
    logging.call(3);
    const std::vector<LoggedCall> calls = logging.taken();
    CHECK(calls.size() == 2);
    CHECK(calls[1].correlation == 3);
    CHECK(logging.log.take_dropped() == 84);  // those that were too deep
}

TEST(what_was_open_when_the_log_was_switched_off_is_forgotten) {
    Logging logging;
    for (uint32_t unended = 100; unended < 200; ++unended) logging.log.begin(false, launch, unended);
    logging.log.switch_off();
    logging.call(1);
    logging.log.switch_on();
    logging.log.switch_on();
    logging.log.end(false, launch, 100);
    logging.call(2);
    const std::vector<LoggedCall> calls = logging.taken();
    CHECK(calls.size() == 1);
    CHECK(calls[0].correlation == 2);
}

TEST(calls_of_a_thread_that_has_ended_are_there) {
    Logging logging;
    for (uint32_t number = 0; number < 50; ++number)
        std::thread([&logging, number] { logging.call(number); }).join();
    CHECK(logging.taken().size() == 50);
}

TEST(a_call_that_a_thread_makes_while_its_own_data_is_destroyed_is_counted) {
    struct Stream {
        Logging* logging = nullptr;
        ~Stream() {
            logging->call(2);
            logging->log.push(ExternalId::users, 1);
            logging->log.pop(ExternalId::users);
        }
    };
    Logging logging;
    std::thread([&logging] {
        thread_local Stream stream;  // before the thread's part in the log, and so destroyed behind it
        stream.logging = &logging;
        logging.call(1);
    }).join();
    CHECK(logging.taken().size() == 1);
    CHECK(logging.log.take_dropped() == 1);
}

TEST(nothing_is_lost_between_threads_that_log_and_one_that_takes) {
    Logging logging;
    constexpr uint32_t each = 20 * CallLog::calls_per_chunk;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (uint32_t number = 0; number < each; ++number) logging.call(number);
        });
    size_t count = 0;
    while (count < 2 * each) count += logging.taken().size();
    for (std::thread& thread : threads) thread.join();
    count += logging.taken().size();
    CHECK(count == 4 * each);
    CHECK(logging.log.take_dropped() == 0);
}

TEST(who_waits_for_the_decoder_waits_until_it_is_done_with_what_was_handed_over) {
    Logging logging;
    logging.call(1);
    logging.log.hand_over();
    std::unique_ptr<CallLog::Chunk> chunk = logging.log.take();
    CHECK(chunk && !logging.log.take());
    std::atomic<bool> is_decoded{false};
    std::thread decoder([&] {
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        is_decoded = true;
        logging.log.give_back(std::move(chunk));
    });
    logging.log.wait_until_decoded();
    CHECK(is_decoded);
    decoder.join();
    logging.log.wait_until_decoded();
}

TEST(what_a_thread_left_when_it_ended_is_waited_for_without_its_having_woken_the_decoder) {
    Logging logging;
    std::atomic<bool> is_over{false};
    std::thread decoder([&] {
        while (!is_over) {
            the_buffers().take(60'000);
            while (std::unique_ptr<CallLog::Chunk> chunk = logging.log.take())
                logging.log.give_back(std::move(chunk));
        }
    });
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t number = 0; number < 3; ++number) {
        std::thread([&] { logging.call(number); }).join();
        logging.log.wait_until_decoded();
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(50));
    is_over = true;
    the_buffers().wake();
    decoder.join();
}

TEST(a_call_that_the_programs_allocator_makes_for_the_log_is_counted) {
    Logging logging;
    within_allocation = [] {
        the_log().begin(false, launch, 2);
        the_log().end(false, launch, 2);
    };
    std::vector<std::unique_ptr<CallLog::Chunk>> held;
    while (within_allocation) {
        logging.call(1);
        logging.log.hand_over();
        held.push_back(logging.log.take());
        CHECK(held.back() && held.back()->count == 1);
    }
    for (std::unique_ptr<CallLog::Chunk>& chunk : held) logging.log.give_back(std::move(chunk));
    CHECK(logging.log.take_dropped() == 1);
}

TEST(without_room_the_newest_are_dropped_and_counted) {
    Logging logging;
    constexpr size_t room = CallLog::most_chunks * CallLog::calls_per_chunk;
    for (size_t number = 0; number < room + 5; ++number) logging.call(uint32_t(number));
    CHECK(logging.log.take_dropped() == 5);
    CHECK(logging.taken().size() == room);
    logging.call(1);
    CHECK(logging.taken().size() == 1);
    CHECK(logging.log.take_dropped() == 0);
}

TEST(threads_that_rest_do_not_keep_others_from_being_logged) {
    Logging logging;
    logging.log.shrink();
    logging.log.limit_to(1);  // which is two hundred chunks
    constexpr int resting = 300;
    std::atomic<int> logged{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    size_t taken = 0;
    for (int i = 0; i < resting; ++i) {
        threads.emplace_back([&] {
            logging.call(1);
            ++logged;
            is_over.wait(false);
        });
        while (logged != i + 1) std::this_thread::yield();
        if (logging.log.take_shortage()) taken += logging.taken().size();
    }
    taken += logging.taken().size();
    is_over = true;
    is_over.notify_all();
    for (std::thread& thread : threads) thread.join();
    CHECK(taken == resting && logging.log.take_dropped() == 0);
    logging.log.limit_to(SIZE_MAX);
}

#ifndef __SANITIZE_ADDRESS__  // which looks for leaks in the child, and waits there for the parent's threads
TEST(a_forked_child_ends_although_others_held_the_locks) {
    Logging logging;
    logging.call(1);
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over) logging.log.hand_over();
    });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) exit(0);  // which ends this thread's part in the log
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
    }
    is_over = true;
    other.join();
}
#endif

CHECK_MAIN
