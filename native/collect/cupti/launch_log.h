// The launches of kernels that the program makes, seen by CUPTI's callbacks: counters have numbers instead of
// names.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

struct Launch {
    std::string kernel;  // as the compiler spells it
    CUcontext context;
    uint64_t start, end;  // ticks of the call
};

class LaunchLog {
public:
    // Before a launch that comes when there are so many: it takes them, and may count anew. Called in a
    // thread of the program, while no launch is under way and all others wait.
    struct Batch {
        size_t size;
        std::function<void(std::vector<Launch>)> when_full;
    };

    // Makes CUPTI call `see` for launches.
    static void watch(const Cupti& cupti, CUpti_SubscriberHandle subscriber);
    void start(const Driver& driver, Batch batch);
    // What was launched since then, or since the last batch, in the order in which the calls returned.
    std::vector<Launch> stop();
    // In threads of the program, without the GIL. Other calls of the driver are none.
    void see(uint32_t callback, const CUpti_CallbackData& call);

private:
    void begin(std::unique_lock<std::mutex>& lock, uint32_t callback, const CUpti_CallbackData& call);
    void end(const CUpti_CallbackData& call);
    void hand_over_when_full(std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable idle_;    // nothing is under way any more
    const Driver* driver_ = nullptr;  // nullptr: off
    Batch batch_{};
    std::vector<Launch> launches_;
    size_t under_way_ = 0;
};

}  // namespace kinetograph::collect::cupti
