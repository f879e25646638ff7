// No memory for the thread that decodes: records are lost and counted, the program goes on.
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <string>

#include "check.h"
#include "cuda_session.h"
#include "no_memory.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

std::atomic<bool> is_short{false};

bool is_decoder() {
    static thread_local const bool is_it = [] {
        char name[16] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        return std::strcmp(name, "kg-cupti") == 0;
    }();
    return is_it;
}

struct NoMemoryForDecoder {
    NoMemoryForDecoder() {
        fails_here = [] { return is_short.load() && is_decoder(); };
        is_short = true;
    }
    ~NoMemoryForDecoder() { is_short = false; }
};

void launch_kernels(const char* name, int count) {
    for (int i = 0; i < count; ++i) cuda().launch((name + std::to_string(i)).c_str());
}

}  // namespace

TEST(what_cannot_be_decoded_is_counted_and_the_session_ends) {
    CudaSession session;
    const Trace trace = [&] {
        const NoMemoryForDecoder none;
        launch_kernels("lost", 100);
        return session.stop();
    }();
    CHECK(has_note(trace, "events were dropped: the system had no more memory"));
    CHECK(count(trace, Category::kernel) < 100);
}

TEST(the_next_session_has_everything) {
    CudaSession session;
    launch_kernels("kept", 100);
    const Trace trace = session.stop();
    CHECK(count(trace, Category::kernel) == 100 && count(trace, Category::cuda_runtime) == 100);
    CHECK(!has_note(trace, "no more memory"));
}

CHECK_MAIN
