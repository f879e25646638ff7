// NVIDIA's own NVTX calls our injection: what is pushed, started and marked, from many threads.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "found.h"
#include "nvtx_events.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

TEST(every_way_without_a_domain) {
    const auto session = start();
    CHECK(nvtxRangePushA("narrow") == 0);
    CHECK(nvtxRangePushW(L"w\u00efde \U0001f600") == 1);
    CHECK(nvtxRangePop() == 1);
    CHECK(nvtxRangePop() == 0);
    CHECK(nvtxRangePop() < 0);
    nvtxMarkA("mark");
    nvtxMarkW(L"wide mark");
    const nvtxRangeId_t a = nvtxRangeStartA("started"), w = nvtxRangeStartW(L"wide started");
    CHECK(a != 0 && w != 0 && a != w);
    nvtxRangeEnd(a);
    nvtxRangeEnd(w);
    nvtxRangeEnd(12345);
    nvtxRangePushA(nullptr);
    nvtxRangePop();
    nvtxRangePushEx(nullptr);
    nvtxRangePop();
    const trace::Trace trace = stop(session);
    for (const char* name : {"narrow",
                             "w\xc3\xaf"
                             "de \xf0\x9f\x98\x80",
                             "mark", "wide mark", "started", "wide started"})
        CHECK(category(trace, name) == "user_annotation");
    CHECK(trace.size() == 8);
    CHECK(trace.flags[row_of(trace, "started")] == trace::event_async);
}

TEST(domains_categories_colours_and_payloads) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
    CHECK(nvtxDomainCreateW(L"a domain") == domain);
    nvtxDomainNameCategoryA(domain, 3, "third");
    const auto session = start();
    nvtxEventAttributes_t event = event_called("unsigned");
    event.category = 3;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff76b900;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = UINT64_MAX;
    CHECK(nvtxDomainRangePushEx(domain, &event) == 0);
    event = event_called("float");
    event.category = 4;
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5f;
    CHECK(nvtxDomainRangePushEx(domain, &event) == 1);
    // The stack of another domain is another one.
    CHECK(nvtxRangePushA("elsewhere") == 0);
    CHECK(nvtxDomainRangePop(domain) == 1);
    CHECK(nvtxDomainRangePop(domain) == 0);
    CHECK(nvtxRangePop() == 0);
    event = event_called("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    CHECK(nvtxDomainRegisterStringW(domain, L"registered") == event.message.registered);
    nvtxDomainMarkEx(domain, &event);
    nvtxDomainDestroy(domain);
    const trace::Trace trace = stop(session);
    CHECK(category(trace, "unsigned") == "a domain");
    CHECK(args(trace, "unsigned") ==
          R"("category":"third","color":"#76b900","payload":18446744073709551615)");
    CHECK(args(trace, "float") == R"("category":4,"payload":0.5)");
    CHECK(category(trace, "registered") == "a domain");
}

TEST(a_category_has_the_name_that_it_was_given_last) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("renamed");
    nvtxEventAttributes_t event = event_called("before");
    event.category = 3;
    const auto session = start();
    nvtxDomainNameCategoryA(domain, 3, "first");
    nvtxDomainMarkEx(domain, &event);
    nvtxDomainNameCategoryA(domain, 3, "second");
    nvtxDomainNameCategoryA(domain, 3 + 64, "with the same end");
    event.message.ascii = "after";
    nvtxDomainMarkEx(domain, &event);
    event.message.ascii = "other";
    event.category = 3 + 64;
    nvtxDomainMarkEx(domain, &event);
    event.message.ascii = "unnamed";
    event.category = 3 + 128;
    nvtxDomainMarkEx(domain, &event);
    const trace::Trace trace = stop(session);
    CHECK(args(trace, "before") == R"("category":"first")");
    CHECK(args(trace, "after") == R"("category":"second")");
    CHECK(args(trace, "other") == R"("category":"with the same end")");
    CHECK(args(trace, "unnamed") == R"("category":131)");
}

TEST(a_domain_called_like_a_category_is_told_from_it) {
    const auto session = start();
    const nvtxEventAttributes_t event = event_called("no kernel");
    nvtxDomainMarkEx(nvtxDomainCreateA("kernel"), &event);
    CHECK(category(stop(session), "no kernel") == "domain kernel");
}

TEST(a_domain_called_like_us_is_one_of_the_programs) {
    const auto session = start();
    const nvtxEventAttributes_t event = event_called("not ours");
    nvtxDomainMarkEx(nvtxDomainCreateA("kinetograph"), &event);
    CHECK(category(stop(session), "not ours") == "kinetograph");
}

TEST(domains_that_there_is_no_room_for_are_told_of_once) {
    const auto session = start();
    for (int i = 0; i < 300; ++i) {
        const nvtxDomainHandle_t domain = nvtxDomainCreateA(("crowd " + std::to_string(i)).c_str());
        const nvtxEventAttributes_t event = event_called("in a crowd");
        nvtxDomainMarkEx(domain, &event);
    }
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 300);
    CHECK(notes_that_begin(trace, "there are more domains") == 1);
}

TEST(a_thread_has_the_name_that_it_was_given) {
    const auto session = start();
    std::thread([] {
        nvtxNameOsThreadA(uint32_t(syscall(SYS_gettid)), "named by NVTX");
        nvtxMarkA("there");
    }).join();
    const trace::Trace trace = stop(session);
    CHECK(trace.tracks[trace.track[row_of(trace, "there")]].name.ends_with("(named by NVTX)"));
}

TEST(a_thread_has_the_name_that_another_gave_it) {
    const auto session = start();
    std::atomic<int32_t> tid{0};
    std::atomic<bool> is_named{false}, is_named_again{false}, is_seen{false};
    std::thread worker([&] {
        tid = int32_t(syscall(SYS_gettid));
        is_named.wait(false);
        nvtxMarkA("first");
        is_seen = true;
        is_seen.notify_all();
        is_named_again.wait(false);
        nvtxMarkA("second");
    });
    while (tid == 0) std::this_thread::yield();
    nvtxNameOsThreadA(uint32_t(tid), "before its first event");
    is_named = true;
    is_named.notify_all();
    is_seen.wait(false);
    const trace::Trace before = stop(session);
    CHECK(before.tracks[before.track[row_of(before, "first")]].name.ends_with("(before its first event)"));
    const auto next = start();
    nvtxNameOsThreadW(uint32_t(tid), L"while it runs");
    is_named_again = true;
    is_named_again.notify_all();
    worker.join();
    const trace::Trace trace = stop(next);
    CHECK(trace.tracks[trace.track[row_of(trace, "second")]].name.ends_with("(while it runs)"));
}

// For ThreadSanitizer before all: names that come and go with the sessions that need them.
TEST(many_threads_while_sessions_come_and_go) {
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([&, number] {
            const nvtxDomainHandle_t domain =
                nvtxDomainCreateA(("domain " + std::to_string(number % 2)).c_str());
            for (int i = 0; !is_over; ++i) {
                const std::string name = "made up " + std::to_string(i % 50);
                nvtxEventAttributes_t event = event_called(name.c_str());
                nvtxDomainRangePushEx(domain, &event);
                const nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &event);
                nvtxMarkA(name.c_str());
                nvtxDomainRangeEnd(domain, id);
                nvtxDomainRangePop(domain);
            }
        });
    size_t seen = 0;
    for (int i = 0; i < 40 || seen == 0; ++i) {
        const auto session = start();
        std::this_thread::yield();
        seen += stop(session).size();
    }
    is_over = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(seen > 0);
}

TEST(ranges_of_an_earlier_session_are_not_in_the_next_wherever_they_ended) {
    const auto first = start();
    const nvtxRangeId_t ended_elsewhere = nvtxRangeStartA("ended by a thread that is gone");
    std::thread([&] { nvtxRangeEnd(ended_elsewhere); }).join();
    const nvtxRangeId_t ended_later = nvtxRangeStartA("ended when nobody recorded");
    CHECK(stop(first).size() == 2);
    nvtxRangeEnd(ended_later);
    const auto next = start();
    std::thread([] { nvtxRangeEnd(nvtxRangeStartA("the first of its thread")); }).join();
    CHECK(stop(next).size() == 1);
}

TEST(a_range_that_began_before_the_window_of_a_ring_is_cut_to_it) {
    using namespace std::chrono;
    record::SessionOptions options;
    options.all_threads = true;
    options.ring_ns = 50'000'000;  // more than a busy machine keeps a thread waiting
    const auto session = record::Recorder::instance().start(options);
    const nvtxRangeId_t range = nvtxRangeStartA("longer than the ring");
    const auto begun = steady_clock::now();
    while (steady_clock::now() - begun < milliseconds(80)) std::this_thread::yield();
    nvtxRangeEnd(range);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && trace.duration_ns[0] <= options.ring_ns);
}

TEST(ranges_that_are_never_popped_are_counted_and_do_not_grow_for_ever) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("never popped");
    const nvtxEventAttributes_t event = event_called("pushed");
    constexpr int many = 70'000;
    for (int i = 0; i < many; ++i) CHECK(nvtxDomainRangePushEx(domain, &event) == i);
    CHECK(nvtxRangePushA("of another domain") == 0);
    CHECK(nvtxRangePop() == 0);
    for (int i = many; i-- > 0;) CHECK(nvtxDomainRangePop(domain) == i);
    CHECK(nvtxDomainRangePop(domain) < 0);
}

TEST(ranges_that_are_nested_too_deeply_are_all_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("nested too deeply");
    const nvtxEventAttributes_t event = event_called("nested");
    constexpr size_t many = 70'000, most = 65'536;
    const auto session = start();
    for (size_t i = 0; i < many; ++i) nvtxDomainRangePushEx(domain, &event);
    for (size_t i = 0; i < many; ++i) nvtxDomainRangePop(domain);
    const trace::Trace trace = stop(session);
    CHECK(notes_that_begin(trace, std::to_string(many - most) + " ranges lay within 65,536 others") == 1);
    CHECK(notes_that_begin(trace, std::to_string(most - trace.size()) + " scopes were nested too deeply") ==
          1);
}

// Names that are new each time, so that the locks are taken.
void annotate_anew(const std::string& name) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA(name.c_str());
    nvtxDomainNameCategoryA(domain, 1, name.c_str());
    nvtxEventAttributes_t event = event_called("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, name.c_str());
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
}

TEST(a_child_that_is_forked_while_others_annotate_goes_on) {
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        for (int i = 0; !is_over; ++i) annotate_anew("in the parent " + std::to_string(i % 5'000));
    });
    for (int i = 0; i < 50; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            annotate_anew("in the child");
            _exit(0);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    is_over = true;
    other.join();
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    setenv("NVTX_INJECTION64_PATH", argv[1], 1);
    return test::run_all();
}
