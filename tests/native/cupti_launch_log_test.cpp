// Launches of several threads, as CUPTI's callbacks tell them.
#include "collect/cupti/launch_log.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

using namespace kinetograph::collect::cupti;

namespace {

const Driver driver;  // that knows of no capture

// One call of cuLaunchKernel.
struct Call {
    uint64_t slot = 0;
    CUresult result = CUDA_SUCCESS;

    void see(LaunchLog& log, CUpti_ApiCallbackSite site) {
        CUpti_CallbackData data{};
        data.callbackSite = site;
        data.functionReturnValue = &result;
        data.symbolName = "kernel";
        data.correlationData = &slot;
        log.see(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, data);
    }
    void enter(LaunchLog& log) { see(log, CUPTI_API_ENTER); }
    void leave(LaunchLog& log) { see(log, CUPTI_API_EXIT); }
};

void launch(LaunchLog& log, CUresult result = CUDA_SUCCESS) {
    Call call;
    call.result = result;
    call.enter(log);
    call.leave(log);
}

}  // namespace

TEST(nothing_is_seen_before_the_start_and_after_the_end) {
    LaunchLog log;
    launch(log);
    log.start(driver, {100, {}});
    launch(log);
    launch(log, CUDA_ERROR_INVALID_VALUE);
    CHECK(log.stop().size() == 1);
    launch(log);
    CHECK(log.stop().empty());
}

TEST(a_launch_that_began_before_the_start_is_none) {
    LaunchLog log;
    Call early;
    early.enter(log);
    log.start(driver, {100, {}});
    early.leave(log);
    CHECK(log.stop().empty());
}

TEST(a_full_batch_is_handed_over_when_no_launch_is_under_way) {
    LaunchLog log;
    std::vector<size_t> batches;
    log.start(driver, {2, [&](const std::vector<Launch>& launches) { batches.push_back(launches.size()); }});
    Call slow;
    slow.enter(log);
    launch(log);
    launch(log);
    std::atomic<bool> has_launched{false};
    std::thread other([&] {
        launch(log);  // waits for the slow one
        has_launched = true;
    });
    CHECK(!has_launched);
    slow.leave(log);
    other.join();
    CHECK((batches == std::vector<size_t>{3}));
    CHECK(log.stop().size() == 1);
}

TEST(stopping_ends_the_wait) {
    LaunchLog log;
    log.start(driver, {1, [](const std::vector<Launch>&) { CHECK(!"a launch is under way"); }});
    Call slow;
    slow.enter(log);
    launch(log);  // within the slow one, as if of another thread: the batch is full after it
    std::thread other([&] { launch(log); });
    CHECK(log.stop().size() == 1);
    other.join();
    CHECK(log.stop().empty());
}

CHECK_MAIN
