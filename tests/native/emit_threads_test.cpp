// Scopes of several threads on their way to a tool, while it is wanted and not wanted again; for
// ThreadSanitizer before all.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "emit/scopes.h"
#include "record/thread_buffer.h"

using namespace kinetograph;

namespace {

const std::string log_path = "emit_threads_test." + std::to_string(getpid()) + ".log";

bool is_emitting() {
    return record::active.load() & record::active_emission;
}

void emit_once(int number) {
    static const char keys[2] = {};
    const uintptr_t context = uintptr_t(number % 3);
    emit::begin_scope(&keys[0], context, {"outer " + std::to_string(number % 50), {}});
    emit::begin_scope(&keys[1], context + number % 2, {*emit::name_of("inner"), {}});
    emit::mark({"mark", {}});
    emit::count(*emit::name_of("counter"), number);
    // Out of order now and then.
    emit::end_scope(&keys[number % 5 == 0 ? 0 : 1], context);
    emit::end_scope(&keys[number % 5 == 0 ? 1 : 0], context);
}

// Begins less ends of each thread, as the tool was told.
std::map<std::string, int> open_by_thread() {
    std::map<std::string, int> open;
    std::ifstream log(log_path);
    for (std::string line; std::getline(log, line);) {
        const size_t at = line.find("\"tid\":");
        const std::string tid = line.substr(at, line.find_first_of(",}", at) - at);
        const auto is_call = [&](const char* call) { return line.find(call) == 1; };
        if (is_call("\"call\":\"push\"") || is_call("\"call\":\"start\"")) ++open[tid];
        if (is_call("\"call\":\"pop\"") || is_call("\"call\":\"end\"")) --open[tid];
    }
    return open;
}

}  // namespace

TEST(each_begin_has_its_end_whenever_the_tool_is_wanted) {
    setenv("INTEL_LIBITTNOTIFY64", FAKE_ITT, 1);
    setenv("FAKE_TOOL_LOG", log_path.c_str(), 1);
    std::atomic<bool> done{false};
    std::atomic<int> emitted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int number = 0; !done.load(); ++number) {
                if (is_emitting()) emit_once(number), ++emitted;
                std::this_thread::yield();
            }
        });
    for (int round = 0; round < 30; ++round) {
        emit::start(emit::Target::itt, 1);
        emit::start(emit::Target::itt, 2);
        const int before = emitted.load();
        while (emitted.load() < before + 10) std::this_thread::yield();
        emit::stop(1);
        emit::stop(2);
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(!is_emitting());
    const auto open = open_by_thread();
    CHECK(open.size() == 4);
    for (const auto& [tid, count] : open) CHECK(count == 0);
    std::remove(log_path.c_str());
}

CHECK_MAIN
