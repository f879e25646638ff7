// What a thread does to record takes no lock: counted, by standing between the recorder and the system.
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"
#include "kinetograph/record_abi.h"
#include "record/recorder.h"

using namespace kinetograph;
using record::Recorder;

// The sanitizers stand there themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

thread_local int locks = 0;

template <class Function>
Function next(Function, const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// All that std::mutex, std::shared_mutex and std::condition_variable come down to.
#pragma GCC visibility push(default)
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static const auto real = next(&pthread_mutex_lock, "pthread_mutex_lock");
    ++locks;
    return real(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
    static const auto real = next(&pthread_mutex_trylock, "pthread_mutex_trylock");
    ++locks;
    return real(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    static const auto real = next(&pthread_rwlock_rdlock, "pthread_rwlock_rdlock");
    ++locks;
    return real(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    static const auto real = next(&pthread_rwlock_wrlock, "pthread_rwlock_wrlock");
    ++locks;
    return real(lock);
}
}
#pragma GCC visibility pop

namespace {

// Ten thousand times; the locks of those that stayed within the extent they began in, and of the others.
struct Count {
    int appended = 0, locks_of_appends = 0, exchanges = 0, locks_of_exchanges = 0;
};

template <class Append>
Count count_locks(Append append) {
    for (int i = 0; i < 10; ++i) append();  // the first takes memory, and sees the session
    Count count;
    for (int i = 0; i < 10'000; ++i) {
        const record::ExtentHeader* extent = record::current_thread->extent.header;
        const int before = locks;
        append();
        const bool is_exchanged = record::current_thread->extent.header != extent;
        ++(is_exchanged ? count.exchanges : count.appended);
        (is_exchanged ? count.locks_of_exchanges : count.locks_of_appends) += locks - before;
    }
    return count;
}

// The count can fail: extents that are exchanged take locks, and these are seen.
void check(const Count& count) {
    CHECK(count.appended > 9'900);
    CHECK(count.locks_of_appends == 0);
    CHECK(count.exchanges > 0);
    CHECK(count.locks_of_exchanges >= count.exchanges);
}

}  // namespace

TEST(a_scope_takes_no_lock) {
    const auto session = Recorder::instance().start({});
    const uint32_t name = Recorder::instance().intern("scope");
    check(count_locks([&] {
        record::ThreadBuffer* thread = record::recording_thread();
        record::begin_scope(*thread, record::lane_of(*thread, 0), name, 0);
        record::end_scope(*thread, record::lane_of(*thread, 0), name, base::ticks());
    }));
    Recorder::instance().stop(session);
}

TEST(an_event_with_payload_takes_no_lock) {
    const auto session = Recorder::instance().start({});
    const kinetograph_record_table* table = kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    const kinetograph_event event{table->intern("e", 1), 0, 0, 0, 0, 1, 2, 0, 5, "\"a\":1"};
    check(count_locks([&] { table->span(&event); }));
    Recorder::instance().stop(session);
}

TEST(scopes_of_the_c_table_take_no_lock) {
    const auto session = Recorder::instance().start({});
    const kinetograph_record_table* table = kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    const uint32_t name = table->intern("scope", 5);
    check(count_locks([&] {
        table->begin(name, 1, 7);
        table->end(name);
    }));
    Recorder::instance().stop(session);
}

TEST(a_scope_that_nobody_records_takes_no_lock) {
    const kinetograph_record_table* table = kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    const uint32_t name = table->intern("scope", 5);
    const int before = locks;
    for (int i = 0; i < 10'000; ++i) {
        table->begin(name, 1, 7);
        table->end(name);
    }
    CHECK(locks == before);
}

#endif

CHECK_MAIN
